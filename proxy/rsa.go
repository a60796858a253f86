package proxy

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // what the protocol demands of OAEP; its safety does not rest on SHA-1's collisions
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync"
)

// rsaPair is a private key, and its public half as sent to clients.
type rsaPair struct {
	private *rsa.PrivateKey
	public  []byte // PEM
}

func newRSAPair(k *rsa.PrivateKey) (*rsaPair, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		return nil, err
	}
	return &rsaPair{private: k, public: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})}, nil
}

// rsaKey is the proxy's own key: from a file, or made when it is first needed.
type rsaKey struct {
	mu   sync.Mutex
	pair *rsaPair
}

// loadRSAKey reads the key from a file, if one is named.
func loadRSAKey(file string) (*rsaKey, error) {
	if file == "" {
		return &rsaKey{}, nil
	}

	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("rsa-key: %w", err)
	}

	key, err := parseRSAKey(b)
	if err != nil {
		return nil, fmt.Errorf("rsa-key %s: %w", file, err)
	}

	pair, err := newRSAPair(key)
	return &rsaKey{pair: pair}, err
}

// parseRSAKey reads a private key in either of its two PEM forms.
func parseRSAKey(b []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("want a private key in PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}

	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}

	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("want an RSA key")
	}

	return key, nil
}

// get returns the key.
func (r *rsaKey) get() (*rsaPair, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pair != nil {
		return r.pair, nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	r.pair, err = newRSAPair(key)
	return r.pair, err
}

// encryptPassword encrypts a password, with its closing zero, with the public key that a server has
// sent.
func encryptPassword(key, password, salt []byte) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("the server's public key is not in PEM")
	}

	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the server's public key: %w", err)
	}

	public, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the server's public key is not an RSA key")
	}

	mixed := mix(password, salt)
	defer clear(mixed)

	return rsa.EncryptOAEP(sha1.New(), rand.Reader, public, mixed, nil) //nolint:gosec // see the import
}

// decryptPassword is the reverse, with our private key.
func (p *rsaPair) decryptPassword(encrypted, salt []byte) ([]byte, error) {
	mixed, err := rsa.DecryptOAEP(sha1.New(), nil, p.private, encrypted, nil) //nolint:gosec // see the import
	if err != nil {
		return nil, err
	}
	password := mix(mixed, salt)
	clear(mixed)
	if len(password) == 0 || password[len(password)-1] != 0 {
		return nil, errors.New("no closing zero")
	}
	return password, nil
}

// mix combines a password with the salt, so that the same password never looks the same.
func mix(password, salt []byte) []byte {
	mixed := make([]byte, len(password))
	for i := range password {
		mixed[i] = password[i]
		if len(salt) > 0 {
			mixed[i] ^= salt[i%len(salt)]
		}
	}
	return mixed
}
