package oss

import (
	"encoding/xml"
	"net/http"

	"magpie/internal/fakes/trouble"
)

// Fault makes calls go wrong. The zero Status with no other field set is a
// hang: the call is read and never answered.
type Fault struct {
	Method   string // HTTP method; "" = any
	Times    int    // how many calls; 0 = one
	After    bool   // a put has its effect first, and only its answer is lost
	Status   int    // of the answer
	Code     string // of the answer; "" = an empty answer, as a proxy gives
	Drop     bool   // the connection is closed instead of an answer
	WrongCRC bool   // a put answers with the checksum of other bytes
}

// Fail arranges a fault for calls to come. Faults are used up in the order in
// which they were arranged.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.Add(f, f.Times)
}

// note counts a call and picks the fault for it.
func (s *Server) note(method string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	return s.faults.Pick(func(f *Fault) bool { return f.Method == "" || f.Method == method })
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Code != "":
		(&refusal{status: f.Status, code: f.Code, text: "arranged by the test"}).write(w, r)
	case f.Status != 0:
		w.WriteHeader(f.Status)
	default:
		trouble.Hang(r.Context(), s.life.Done())
	}
}

// refusal is an error answer.
type refusal struct {
	status int
	code   string
	text   string
	ec     string      // the number of the very reason, "" = none
	extra  [][2]string // more elements, by name
}

type element struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
}

func (e *refusal) write(w http.ResponseWriter, r *http.Request) {
	all := struct {
		XMLName xml.Name `xml:"Error"`
		Fields  []element
	}{}
	add := func(name, text string) {
		all.Fields = append(all.Fields, element{xml.Name{Local: name}, text})
	}
	add("Code", e.code)
	add("Message", e.text)
	add("RequestId", w.Header().Get("x-oss-request-id"))
	add("HostId", r.Host)
	for _, x := range e.extra {
		add(x[0], x[1])
	}
	if e.ec != "" {
		add("EC", e.ec)
		w.Header().Set("x-oss-ec", e.ec)
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(e.status)
	if r.Method == http.MethodHead {
		return
	}
	body, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, _ = w.Write(append([]byte(xml.Header), body...)) // as above: nobody may be there to read it
	}
}
