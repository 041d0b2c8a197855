// Package oss is a fake Aliyun OSS for tests and for the simulator: buckets of
// objects that are put, got, looked at and deleted. It checks signatures of
// version 1 and 4, in headers and in URLs, by an implementation of its own,
// takes buckets in the path and in the host name, and refuses in the words and
// codes of the service. It knows nothing of Magpie. A Server starts no
// goroutine; the caller serves its Handler.
package oss

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc64"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

const (
	maxKey    = 1023     // bytes
	maxObject = 64 << 20 // of this fake; the service takes 5 GB in one put
	maxSkew   = 15 * time.Minute
)

// Options of New. Zero fields have defaults.
type Options struct {
	Bucket    string // "magpie-test"
	KeyID     string // "LTAItest"
	KeySecret string // "secret-of-the-test"
	Region    string // "cn-test"
	// Domain is the host name under which a bucket is a label of its own:
	// "oss-cn-test.aliyuncs.com"; with -internal it is another way to the same
	// bucket. An IP address in Host means path style.
	Domain string
	// CNAME is a domain of the owner's that is bound to the bucket; "" = none.
	CNAME string
	// New: the account was opened since 2025-03-20, and the bucket is on the
	// mainland, so that its data are had by CNAME and inside the cloud only.
	New    bool
	V1     bool             // an old bucket, which takes signatures of version 1
	Public bool             // anybody may get an object
	Now    func() time.Time // time.Now
}

// Object is what stands under a key.
type Object struct {
	Key    string
	Data   []byte
	Header http.Header // Content-Type, Content-Disposition and what else describes it
}

// Server is a running fake. Safe for concurrent use.
type Server struct {
	opts Options
	life served.Life

	mu      sync.Mutex
	objects map[string]Object
	faults  trouble.List[Fault]
	calls   map[string]int
	serial  int
}

// New returns a Server with one empty bucket.
func New(o *Options) *Server {
	s := &Server{objects: map[string]Object{}, calls: map[string]int{}, life: served.NewLife()}
	if o != nil {
		s.opts = *o
	}
	for field, value := range map[*string]string{
		&s.opts.Bucket: "magpie-test", &s.opts.KeyID: "LTAItest", &s.opts.KeySecret: "secret-of-the-test",
		&s.opts.Region: "cn-test", &s.opts.Domain: "oss-cn-test.aliyuncs.com",
	} {
		if *field == "" {
			*field = value
		}
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	return s
}

// Options returns the options with their defaults.
func (s *Server) Options() Options { return s.opts }

// Close lets go of calls that hang.
func (s *Server) Close() { s.life.End() }

// Objects returns what the bucket holds, by key.
func (s *Server) Objects() map[string]Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Object{}
	for k, o := range s.objects {
		all[k] = o
	}
	return all
}

// Calls counts the calls with that HTTP method, refused ones as well.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Handler serves the bucket.
func (s *Server) Handler() http.Handler { return served.Whole(http.HandlerFunc(s.serve)) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	fault := s.note(r.Method)
	w.Header().Set("Server", "AliyunOSS")
	w.Header().Set("x-oss-request-id", s.requestID())
	if fault != nil && !fault.After && !fault.WrongCRC {
		s.misbehave(w, r, fault)
		return
	}
	refused := s.answer(w, r, fault)
	if refused != nil {
		refused.write(w, r)
	}
}

// answer carries a call out, or says why not.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, fault *Fault) *refusal {
	bucket, key := s.target(r)
	if s.opts.New && s.hostOf(r) != s.opts.CNAME {
		// help.aliyun.com/oss/user-guide/access-buckets-via-custom-domain-names and
		// /0048-00000401, read November 2026.
		return &refusal{status: http.StatusBadRequest, code: "PublicEndpointForbidden", ec: "0048-00000401", text: "The bucket cannot be accessed by public endpoint."}
	}
	if err := s.authorise(r, bucket, key); err != nil {
		return err
	}
	if bucket != s.opts.Bucket {
		return &refusal{status: http.StatusNotFound, code: "NoSuchBucket", text: "The specified bucket does not exist.", extra: [][2]string{{"BucketName", bucket}}}
	}
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) || strings.ContainsAny(key[:1], `/\`) {
		return &refusal{status: http.StatusBadRequest, code: "InvalidObjectName", text: "The specified object is not valid."}
	}
	switch r.Method {
	case http.MethodPut:
		return s.put(w, r, key, fault)
	case http.MethodGet, http.MethodHead:
		return s.get(w, r, key)
	case http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, key)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent) // also of a key that is not there
		return nil
	}
	return &refusal{status: http.StatusMethodNotAllowed, code: "MethodNotAllowed", text: "The specified method is not allowed against this resource."}
}

// target reads bucket and key out of host and path.
func (s *Server) target(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	host := s.hostOf(r)
	if host == s.opts.CNAME {
		return s.opts.Bucket, path
	}
	if label, ok := strings.CutSuffix(strings.Replace(host, "-internal.", ".", 1), "."+s.opts.Domain); ok {
		return label, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

func (s *Server) hostOf(r *http.Request) string {
	if h, _, err := net.SplitHostPort(r.Host); err == nil {
		return h
	}
	return r.Host
}

// described are the headers that are kept with an object.
var described = []string{"Content-Type", "Content-Disposition", "Content-Encoding", "Cache-Control", "Expires"}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, fault *Fault) *refusal {
	if r.ContentLength < 0 {
		return &refusal{status: http.StatusLengthRequired, code: "MissingContentLength", text: "You must provide the Content-Length HTTP header."}
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxObject+1))
	if err != nil {
		return &refusal{status: http.StatusBadRequest, code: "RequestTimeout", text: "Your socket connection to the server was not read from or written to within the timeout period."}
	}
	if len(data) > maxObject {
		return &refusal{status: http.StatusBadRequest, code: "EntityTooLarge", text: "Your proposed upload exceeds the maximum allowed object size."}
	}
	sum := md5.Sum(data)
	if given := r.Header.Get("Content-MD5"); given != "" && given != base64.StdEncoding.EncodeToString(sum[:]) {
		return &refusal{status: http.StatusBadRequest, code: "InvalidDigest", text: "The Content-MD5 you specified was invalid."}
	}
	o := Object{Key: key, Data: data, Header: http.Header{}}
	for _, name := range described {
		if v := r.Header.Get(name); v != "" {
			o.Header.Set(name, v)
		}
	}
	s.mu.Lock()
	s.objects[key] = o
	s.mu.Unlock()
	if fault != nil && fault.After {
		s.misbehave(w, r, fault)
		return nil
	}
	o.sums(w.Header(), fault != nil && fault.WrongCRC)
	w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	w.Header().Set("x-oss-server-time", "7")
	w.WriteHeader(http.StatusOK)
	return nil
}

// sums sets the headers that say what an object's bytes add up to.
func (o Object) sums(h http.Header, wrong bool) {
	md := md5.Sum(o.Data)
	crc := crc64.Checksum(o.Data, crc64.MakeTable(crc64.ECMA))
	if wrong {
		crc++
	}
	h.Set("ETag", `"`+strings.ToUpper(hex.EncodeToString(md[:]))+`"`)
	h.Set("x-oss-hash-crc64ecma", strconv.FormatUint(crc, 10))
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) *refusal {
	s.mu.Lock()
	o, ok := s.objects[key]
	s.mu.Unlock()
	if !ok {
		return &refusal{status: http.StatusNotFound, code: "NoSuchKey", text: "The specified key does not exist.", extra: [][2]string{{"Key", key}}}
	}
	for name, v := range o.Header {
		w.Header()[name] = v
	}
	o.sums(w.Header(), false)
	w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.Data) // a client that has gone is no concern of the fake's
	}
	return nil
}

func (s *Server) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return fmt.Sprintf("5C06A3B67B8B5A%010X", s.serial)
}
