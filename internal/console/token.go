package console

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"magpie/chat"
)

// TokenFile is the generated token's file in the data directory.
const TokenFile = "web.token"

const (
	keyFile     = "web.key"
	secretBytes = 24 // 32 characters; cannot be guessed
)

// LoadToken returns the configured token, else the one in
// <dataDir>/web.token, which it makes on the first start, readable by the
// owner only.
func LoadToken(dataDir string, configured chat.Secret) (chat.Secret, error) {
	if configured != "" {
		return configured, nil
	}
	return secretFile(filepath.Join(dataDir, TokenFile))
}

// LoadKey returns the key that signs cookies, from <dataDir>/web.key, which it
// makes on the first start. Removing the file logs everybody out.
func LoadKey(dataDir string) ([]byte, error) {
	s, err := secretFile(filepath.Join(dataDir, keyFile))
	return []byte(s), err
}

// secretFile reads a secret, or makes it. Two processes that start together
// agree: a link to a finished file appears for both or fails for one.
func secretFile(path string) (chat.Secret, error) {
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	_, err = f.WriteString(base64.RawURLEncoding.EncodeToString(random) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make %s: %w", path, err)
	}
	return readSecret(path)
}

func readSecret(path string) (chat.Secret, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", fmt.Errorf("%s is empty: remove it, and a new one is made", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("%s can be read by others: %w", path, err)
		}
	}
	return chat.Secret(secret), nil
}
