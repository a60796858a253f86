// Package checkup says whether rows can be deleted on a server, and what is in the way: for
// `ttlproxy check`.
//
//	Run ─ one look after the other ─► Finding: ok, or a warning or an error with what to do about it
//
// It sees a server as the service account does. Rights are tried, not read: what the server answers
// is the truth also under roles, proxies of users and plugins. Nobody in the catalog needs it; it
// needs the catalog's own looks.
//
// What never happens here: nothing is mended, and nothing is changed but a table with a name that
// nobody else can have, which is made and dropped in the catalog's schema, if there is a catalog.
package checkup
