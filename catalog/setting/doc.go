// Package setting lists what can be set for the whole cluster: names, kinds, defaults, ranges and
// meanings.
//
// There is one table, All. SQL variables, SHOW TTL VARIABLES, the page's list, exports and the reference page
// are made from it, so none of them can know a setting that the others do not. Settings are set by SQL alone:
// the options of the command line, the environment and TOML are those of one proxy, and other ones.
//
//	a person's text ──Check──► the stored text, a warning, or MySQL's error
//	stored texts ──Take──► Reading ──► Bool, Int, Duration, Window, Rates, Hosts: values for those who act on them
//
// What never happens here: no value is kept, read or written. The catalog does that (its Set and
// Settings), and with it what a change ends or bars. The package knows the syntax of ddl and
// nothing else of ours.
//
// # Size
//
// It has more names than others: one for each setting.
package setting
