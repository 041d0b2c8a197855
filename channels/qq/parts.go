package qq

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"magpie/channels"
)

const (
	// headSize is how much of a file md5_10m covers (the vendor's connector,
	// src/api.ts, April 2026).
	headSize = 10002432
	// maxPart bounds a part, which is held in memory, in bytes.
	maxPart = 16 << 20
	// partPatience bounds the sending of one part.
	partPatience = 5 * time.Minute
	// finishPatience is how long the platform may need until it has a part that
	// it was sent; it says 40093001 until then.
	finishPatience = 2 * time.Minute
)

// number comes as a number or as text.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(bytes.Trim(raw, `"`), (*int64)(n))
}

// prepared is the platform's answer to the wish to bring a file in parts.
type prepared struct {
	ID    string `json:"upload_id"`
	Size  number `json:"block_size"`
	Parts []struct {
		Index int    `json:"index"` // from 0 says the page of July 2026, from 1 the vendor's client
		URL   string `json:"presigned_url"`
	} `json:"parts"`
}

// inParts brings a file part by part: the platform says where each goes.
func (q *QQ) inParts(ctx context.Context, chatID string, kind int, name string, f channels.Upload) (string, error) {
	ask, err := q.describe(ctx, kind, name, f)
	if err != nil {
		return "", err
	}
	got, err := q.prepareParts(ctx, chatID, ask)
	if err != nil {
		return "", err
	}
	if err = q.putParts(ctx, chatID, got, f); errors.Is(err, errStoreRefuses) { // the addresses may have grown old on the way
		if got, err = q.prepareParts(ctx, chatID, ask); err == nil {
			err = q.putParts(ctx, chatID, got, f)
		}
	}
	if err != nil {
		return "", err
	}
	return q.bring(ctx, chatID, map[string]string{"upload_id": got.ID})
}

// prepareParts asks where the parts of a file go.
func (q *QQ) prepareParts(ctx context.Context, chatID string, ask description) (got prepared, err error) {
	const op = "upload_prepare"
	err = q.api.call(ctx, request{op: op, method: http.MethodPost, path: route(chatID, op), body: ask}, &got)
	switch {
	case refusedWith(err, noRightCodes()):
		q.learnt.refused(asParts, err)
		return got, err
	case err != nil:
		return got, err
	case got.ID == "" || got.Size <= 0 || got.Size > maxPart || int64(len(got.Parts)) != (ask.Size+int64(got.Size)-1)/int64(got.Size):
		return got, q.api.Fail(op, channels.Rejected, fmt.Errorf("%d parts of %d bytes for a file of %d", len(got.Parts), got.Size, ask.Size))
	}
	for i, part := range got.Parts {
		if first := got.Parts[0].Index; part.Index != first+i || first != 0 && first != 1 {
			return got, q.api.Fail(op, channels.Rejected, fmt.Errorf("part %d is named %d", i+1, part.Index))
		}
	}
	return got, nil
}

// putParts brings all parts to where they go.
func (q *QQ) putParts(ctx context.Context, chatID string, to prepared, f channels.Upload) error {
	r, err := f.Open(ctx)
	if err != nil {
		return q.api.Unreadable("files", err)
	}
	defer r.Close()
	buffer := make([]byte, to.Size)
	for _, part := range to.Parts {
		n, err := io.ReadFull(r, buffer)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return q.api.Unreadable("files", err)
		}
		if err = q.put(ctx, part.URL, buffer[:n]); err == nil {
			err = q.finishPart(ctx, chatID, finished(to.ID, part.Index, buffer[:n]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errStoreRefuses: the store behind a signed address takes nothing there.
var errStoreRefuses = errors.New("the store refuses it")

// description is what the platform wants to know of a file before its parts.
type description struct {
	Type int    `json:"file_type"`
	Name string `json:"file_name"`
	Size int64  `json:"file_size"`
	MD5  string `json:"md5"`
	SHA1 string `json:"sha1"`
	Head string `json:"md5_10m"`
}

// describe reads a file once for its sums, which the platform wants and which
// protect nothing.
func (q *QQ) describe(ctx context.Context, kind int, name string, f channels.Upload) (description, error) {
	r, err := f.Open(ctx)
	if err != nil {
		return description{}, q.api.Unreadable("files", err)
	}
	defer r.Close()
	all, one, head := md5.New(), sha1.New(), md5.New()
	begin, err := io.Copy(io.MultiWriter(all, one, head), io.LimitReader(r, headSize))
	if err != nil {
		return description{}, q.api.Unreadable("files", err)
	}
	rest, err := io.Copy(io.MultiWriter(all, one), io.LimitReader(r, maxFile+1))
	if err != nil {
		return description{}, q.api.Unreadable("files", err)
	}
	if begin+rest > maxFile {
		return description{}, q.api.Fail("files", channels.TooLong, fmt.Errorf("more than %d bytes", maxFile))
	}
	sum := func(h interface{ Sum([]byte) []byte }) string { return hex.EncodeToString(h.Sum(nil)) }
	return description{Type: kind, Name: name, Size: begin + rest, MD5: sum(all), SHA1: sum(one), Head: sum(head)}, nil
}

// finished is what the platform is told of a part that it was sent.
func finished(id string, index int, data []byte) map[string]any {
	sum := md5.Sum(data)
	return map[string]any{"upload_id": id, "part_index": index, "block_size": len(data), "md5": hex.EncodeToString(sum[:])}
}

// finishPart tells the platform of a part until it has it.
func (q *QQ) finishPart(ctx context.Context, chatID string, body map[string]any) error {
	const op = "upload_part_finish"
	end := q.deps.Now().Add(finishPatience)
	for {
		err := q.api.call(ctx, request{op: op, method: http.MethodPost, path: route(chatID, op), body: body}, nil)
		if !refusedWith(err, []int{40093001}) || q.deps.Now().After(end) {
			return err
		}
		timer := time.NewTimer(q.pace.retry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return q.api.Fail(op, channels.Temporary, ctx.Err())
		case <-timer.C:
		}
	}
}

// put sends bytes to a signed address, which needs no token and gets none.
func (q *QQ) put(ctx context.Context, at string, data []byte) error {
	const op = "part"
	if err := q.storable(at); err != nil {
		return q.api.Fail(op, channels.Rejected, err)
	}
	ctx, cancel := context.WithTimeout(ctx, partPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, at, bytes.NewReader(data))
	if err != nil {
		return q.api.Fail(op, channels.Rejected, errors.New("not an address"))
	}
	resp, err := q.api.HTTP().Do(req)
	if err != nil {
		return q.api.Fail(op, channels.Temporary, q.api.Clean(err))
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode/100 == 5:
		return q.api.Fail(op, channels.Temporary, fmt.Errorf("HTTP %d", resp.StatusCode))
	}
	return q.api.Fail(op, channels.Rejected, fmt.Errorf("%w: HTTP %d", errStoreRefuses, resp.StatusCode))
}

// storable says why an address is none to which a file is sent.
func (q *QQ) storable(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("not an address")
	}
	if base, err := url.Parse(q.cfg.APIBase); u.Scheme != "https" && (err != nil || u.Scheme != base.Scheme || u.Host != base.Host) {
		return errors.New("not an https address")
	}
	return nil
}
