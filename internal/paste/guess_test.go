package paste_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"magpie/internal/paste"
)

// What makes a secret in a shell is not the secret, in whatever it is wrapped.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"openssl rand -hex 16", "`openssl rand -hex 16`", "'openssl rand -base64 32'", "\"`openssl rand -hex 16`\"", "$(openssl rand -hex 16)", "“openssl rand -hex 32”", "WEB_TOKEN=openssl rand -hex 16",
		"`uuidgen -r`", "uuidgen", "pwgen 32 1", "pwgen -s 32", "head -c 16 /dev/urandom | xxd -p", "head -c16 </dev/random", "tr -dc a-z </dev/urandom", "python3 -c 'import secrets; print(secrets.token_hex())'",
		"date +%s | sha256sum", "echo hello | md5sum", "[guid]::NewGuid()", "New-Guid", "$ openssl rand -hex 16", "cat /dev/urandom | base64",
	} {
		clean, _ := paste.Trim("WEB_TOKEN", said)
		if paste.Odd(clean) == "" {
			t.Errorf("%s (%s) is taken", said, clean)
		}
	}
	for _, phrase := range []string{"cat battery horse staple", "head over heels in love", "date me at eight-thirty", "echo of the blue mountain", "python is my favourite snake", "opensslrandom", "a|b|c|d|e|f|g|h"} {
		if odd := paste.Odd(phrase); odd != "" {
			t.Errorf("%s %s", phrase, odd)
		}
	}
}

func TestGuessable(t *testing.T) {
	t.Parallel()
	for _, weak := range []string{
		"", "1234567890123456", "aaaaaaaaaaaaaaaaaaaa", "qwertyuiopasdfgh", "password12345678", "abcabcabcabcabcabc", "12345678901234567890123456789012", "abcdefabcdefabcdef", "1q2w3e4r5t6y7u8i", "1qaz2wsx3edc4rfv", "9876543210987654",
		"qwertyuiopasdfghjklzxcvbnm", "abcdefghijklmnopqrstuvwxyz", "P@ssw0rd123456789", "admin123admin123", "correcthorsebatterystaple", "1111222233334444", "ababababcdcdcdcd", "iloveyou5201314520", "----------------", "tokentokentoken1", "poiuytrewqlkjhgf", "aaaaaaaabbbbbbbb1", "woaini1314520woaini", "QWERTYUIOPasdfgh",
	} {
		if !paste.Guessable(weak) {
			t.Errorf("%s is said to be good", weak)
		}
	}
	for _, good := range []string{
		"0123456789abcdef", "a-token-of-the-tests-0123", "3f786850e387550fdab836ed7e6dc881", "f3Kq9-Zt7_pLm2Xw", "correct blue ladder seven", "机器人今天要去公园里散步看花吃饭喝茶", "8412067395186420",
	} {
		if paste.Guessable(good) {
			t.Errorf("%s is said to be weak", good)
		}
	}
	const most = 2000
	for range most { // what is advised is never warned of
		var b [16]byte
		if _, err := rand.Read(b[:]); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{hex.EncodeToString(b[:]), base64.StdEncoding.EncodeToString(b[:])} {
			if paste.Guessable(s) {
				t.Errorf("%s is said to be weak", s)
			}
			if odd := paste.Odd(s); odd != "" || strings.TrimSpace(s) == "" {
				t.Errorf("%s %s", s, odd)
			}
		}
	}
}
