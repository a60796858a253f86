package proxy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Account plugins that send the password itself, but only if strangers cannot read it: otherwise
// they encrypt it with RSA.
const (
	pluginCachingSHA2 = "caching_sha2_password"
	pluginSHA256      = "sha256_password"
)

// discreet are the clients' plugins that give nothing away to whoever reads along. Others, such as
// mysql_clear_password, dialog and authentication_openid_connect_client, send a password or a token
// as it is and leave it to the client to see to its leg; so may one that is not known here.
var discreet = []string{
	pluginCachingSHA2, pluginSHA256, "mysql_native_password", "mysql_old_password", "client_ed25519", "parsec",
	"auth_gssapi_client", "authentication_ldap_sasl_client", "authentication_kerberos_client",
	"authentication_windows_client", "authentication_oci_client", "authentication_fido_client",
	"authentication_webauthn_client", "auth_socket", "unix_socket", "",
}

// Bytes of these plugins' conversations.
const (
	cachingFastDone   = 0x03 // server: the scramble was right, OK follows
	cachingFullLogin  = 0x04 // server: the fast way failed, send the password
	cachingRequestKey = 0x02 // client: send me your public key
	sha256RequestKey  = 0x01 // the same, of the other plugin
)

// leg is what one side of a session runs over.
type leg struct{ tls, unix bool }

// private reports whether strangers cannot read what is sent.
func (l leg) private() bool { return l.tls || l.unix }

// keeps reports whether a plugin sends the password unencrypted over this leg. The older one does
// not trust sockets.
func (l leg) keeps(plugin string) bool { return l.tls || l.unix && plugin != pluginSHA256 }

// bridge carries passwords of the two SHA-256 plugins across if the legs differ: if one side sends
// the password itself, because strangers cannot read it there, and the other expects it encrypted
// with RSA, because they can.
//
//	private client, open server                   open client, private server
//	client      bridge       server               client      bridge       server
//	   │ password ─►│           │                    │ key? ─────►│           │
//	   │            │ key? ────►│                    │◄─── our key│           │
//	   │            │◄─── key ──│                    │ encrypted ►│           │
//	   │            │ encrypted►│                    │            │ password ►│
//	   │◄─────── OK or error ───│                    │◄─────── OK or error ───│
//
// The password is known here for these few packets, and never kept. It is never sent over a leg
// that strangers can read. If the legs are alike, and for all other plugins, everything passes
// unchanged.
type bridge struct {
	client, server leg
	ownKey         func() (*rsaPair, error)

	plugin   string
	salt     []byte
	expects  expectation
	password []byte
}

// expectation is what the bridge waits for.
type expectation int

const (
	nothing        expectation = iota
	passwordNext               // from the client: the password, or a question for the key
	serverKeyNext              // from the server, for the password that is held
	encryptedNext              // from the client, by our key
	theirsToFinish             // the client itself encrypts, for the server
)

// move is what to do with a packet: pass something on, or answer its sender.
type move struct{ toServer, toClient []byte }

// begin records the plugin with which a login begins, and the salt in the greeting.
func (b *bridge) begin(plugin string, salt []byte) {
	b.plugin, b.salt, b.expects = plugin, bytes.Clone(salt), nothing
}

// differs reports whether the password must be carried over.
func (b *bridge) differs() bool {
	return (b.plugin == pluginCachingSHA2 || b.plugin == pluginSHA256) &&
		b.client.keeps(b.plugin) != b.server.keeps(b.plugin)
}

// uneven reports whether there is a plugin for which the bridge has something to do.
func (b *bridge) uneven() bool {
	return b.client.keeps(pluginCachingSHA2) != b.server.keeps(pluginCachingSHA2) ||
		b.client.keeps(pluginSHA256) != b.server.keeps(pluginSHA256)
}

// noAnswer reports whether the client has nothing to say to a packet of the server.
func (b *bridge) noAnswer(payload []byte) bool {
	return b.plugin == pluginCachingSHA2 && len(payload) == 2 && payload[0] == wire.AuthMore &&
		payload[1] == cachingFastDone
}

// fromServer decides about a packet of the server that is not its last.
func (b *bridge) fromServer(payload []byte) (move, error) {
	switch {
	case len(payload) == 0:
	case payload[0] == wire.AuthSwitch && len(payload) > 1, payload[0] == wire.AuthNextFactor:
		return move{toClient: payload}, b.switched(payload)
	case payload[0] == wire.AuthMore && b.expects == serverKeyNext:
		b.expects = nothing
		encrypted, err := encryptPassword(payload[1:], b.password, b.salt)
		clear(b.password)
		b.password = nil
		return move{toServer: encrypted}, err
	case payload[0] == wire.AuthMore && len(payload) == 2 && payload[1] == cachingFullLogin &&
		b.plugin == pluginCachingSHA2 && b.differs():
		b.expects = passwordNext
	}
	return move{toClient: payload}, nil
}

// switched records another plugin. One that would send the password over a leg that is less private
// than the client believes is refused.
func (b *bridge) switched(payload []byte) error {
	b.plugin = wire.AuthSwitchPlugin(payload)
	b.salt = bytes.Clone(bytes.TrimSuffix(payload[min(len(payload), 1+len(b.plugin)+1):], []byte{0}))
	b.expects = nothing
	switch {
	case b.plugin == pluginSHA256 && b.differs():
		b.expects = passwordNext
	case b.givesAway():
		return &wire.Error{Code: ddl.CodeAccessDenied, State: "28000", Message: fmt.Sprintf(
			"ttlproxy: the account's plugin (%s) could send the password in the clear to the backend: set "+
				"backend-tls to as-client or always", b.plugin)}
	}
	return nil
}

// fromClient decides about a packet that the client sends after its response.
func (b *bridge) fromClient(payload []byte) (move, error) {
	switch b.expects {
	case passwordNext:
		return b.passwordFrom(payload)
	case encryptedNext:
		return b.decrypted(payload)
	default:
		return move{toServer: payload}, nil
	}
}

// passwordFrom takes the client's answer to the question for a password.
func (b *bridge) passwordFrom(payload []byte) (move, error) {
	b.expects = nothing
	asksForKey := len(payload) == 1 && payload[0] == b.requestKey()
	empty := len(payload) == 0 || len(payload) == 1 && payload[0] == 0
	switch {
	case empty:
		return move{toServer: payload}, nil
	case b.server.keeps(b.plugin) && asksForKey:
		key, err := b.ownKey()
		if err != nil {
			return move{}, err
		}
		b.expects = encryptedNext
		return move{toClient: append([]byte{wire.AuthMore}, key.public...)}, nil
	case b.server.keeps(b.plugin):
		return b.decrypted(payload) // a client that knows the key already
	case asksForKey:
		b.expects = theirsToFinish
		return move{toServer: payload}, nil
	default:
		b.password = bytes.Clone(payload)
		b.expects = serverKeyNext
		return move{toServer: []byte{b.requestKey()}}, nil
	}
}

func (b *bridge) requestKey() byte {
	if b.plugin == pluginSHA256 {
		return sha256RequestKey
	}
	return cachingRequestKey
}

// decrypted decrypts a password that was encrypted with our key and passes it on over a leg that
// strangers cannot read.
func (b *bridge) decrypted(payload []byte) (move, error) {
	b.expects = nothing
	key, err := b.ownKey()
	if err != nil {
		return move{}, err
	}
	password, err := key.decryptPassword(payload, b.salt)
	if err != nil {
		return move{}, &wire.Error{
			Code: ddl.CodeAccessDenied, State: "28000",
			Message: "ttlproxy: the password was encrypted with another key than the proxy's. A client that keeps " +
				"the server's public key needs the proxy's instead, or the proxy the server's private key " +
				"(rsa-key), or use TLS",
		}
	}
	return move{toServer: password}, nil
}

// Names of plugins that nobody has: as long as the one that it replaces, and as long as needed.
const (
	insteadOfSHA256 = "ttlproxy_switch"
	insteadOfOthers = "ttlproxy_"
)

// givesAway reports whether the plugin may send over the server's leg what it sends only because
// the client's leg is private.
func (b *bridge) givesAway() bool {
	return b.client.private() && !b.server.private() && !slices.Contains(discreet, b.plugin)
}

// response changes a client's response, or COM_CHANGE_USER, in place, if it begins with a plugin
// that behaves differently on the two legs or would give the password away: the password is removed
// and the plugin's name replaced by one of the same length that nobody has. The server then asks
// for the account's plugin, with a salt, and the login continues from there.
func (b *bridge) response(plugin, auth []byte) {
	b.plugin = string(plugin)
	switch {
	case b.plugin == pluginSHA256 && b.differs():
		copy(plugin, insteadOfSHA256)
	case b.givesAway():
		copy(plugin, strings.Repeat(insteadOfOthers, 1+len(plugin)/len(insteadOfOthers)))
	default:
		return
	}
	clear(auth)
}
