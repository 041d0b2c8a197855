package dingtalk

// OpRegister is each call of a device registration, for Fault. The calls are
// those of the vendor's connector (dingtalk-openclaw-connector 0.8.21 of
// 2026-05-17, device-auth.ts); no page has them.
const OpRegister = "register"

// Agree lets the person who scanned the code agree to the registration.
func (s *Server) Agree() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.agreed = true
}

// Decline makes the newest registration fail for this reason; after "" it waits
// again.
func (s *Server) Decline(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.declined = why
}

// Outdate makes the newest code too old.
func (s *Server) Outdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access.expired = true
}

func (s *Server) registerInit(r *request) (any, *refusal) {
	var in struct{ Source string }
	if e := r.into(&in); e != nil || in.Source == "" {
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	}
	s.access.nonce = s.next("fakenonce")
	return map[string]any{"errcode": 0, "errmsg": "ok", "nonce": s.access.nonce, "expires_in": 300}, nil
}

func (s *Server) registerBegin(r *request) (any, *refusal) {
	var in struct{ Nonce string }
	if e := r.into(&in); e != nil || in.Nonce == "" || in.Nonce != s.access.nonce {
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	}
	s.access.nonce, s.access.device, s.access.expired = "", s.next("fakedevice"), false
	return map[string]any{
		"errcode": 0, "errmsg": "ok", "device_code": s.access.device, "user_code": "FAKE-CODE", "interval": 1, "expires_in": 7200,
		"verification_uri": r.base + "/scan", "verification_uri_complete": r.base + "/scan?user_code=FAKE-CODE",
	}, nil
}

func (s *Server) registerPoll(r *request) (any, *refusal) {
	var in struct {
		Device string `json:"device_code"`
	}
	if e := r.into(&in); e != nil || in.Device == "" || in.Device != s.access.device {
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	}
	switch {
	case s.access.expired:
		return map[string]any{"errcode": 0, "errmsg": "ok", "status": "EXPIRED"}, nil
	case s.access.declined != "":
		return map[string]any{"errcode": 0, "errmsg": "ok", "status": "FAIL", "fail_reason": s.access.declined}, nil
	}
	if !s.access.agreed {
		return map[string]any{"errcode": 0, "errmsg": "ok", "status": "WAITING"}, nil
	}
	return map[string]any{"errcode": 0, "errmsg": "ok", "status": "SUCCESS", "client_id": s.opts.ClientID, "client_secret": s.opts.ClientSecret}, nil
}
