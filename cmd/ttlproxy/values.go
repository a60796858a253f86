package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value reads and shows one option. Values of all kinds are texts outside of the program; in the
// file they may also be written as TOML's own numbers, booleans and arrays.
type value interface {
	Set(string) error
	String() string
}

// text is any text.
type text struct{ p *string }

func (v text) Set(s string) error { *v.p = s; return nil }
func (v text) String() string     { return *v.p }

// choice is one of a few words.
type choice struct {
	p     *string
	words []string
}

func (v choice) String() string { return *v.p }

func (v choice) Set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(v.words, ", "))
	}
	*v.p = s
	return nil
}

// list may be given several times, in one text with commas between, or as an array.
type list struct{ p *[]string }

func (v list) String() string { return strings.Join(*v.p, ",") }

func (v list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			return errors.New("an empty entry")
		}
		*v.p = append(*v.p, part)
	}
	return nil
}

// onOff is a switch whose value is always written out, so that --engine=off and TTLPROXY_ENGINE=off
// look alike.
type onOff struct{ p *bool }

func (v onOff) String() string {
	if *v.p {
		return "on"
	}
	return "off"
}

func (v onOff) Set(s string) error {
	switch strings.ToLower(s) {
	case "on", "true", "1", "yes":
		*v.p = true
	case "off", "false", "0", "no":
		*v.p = false
	default:
		return fmt.Errorf("%q is neither on nor off", s)
	}
	return nil
}

// flagOnly is a switch that is off unless it is named.
type flagOnly struct{ onOff }

// IsBoolFlag tells package flag that no value follows.
func (flagOnly) IsBoolFlag() bool { return true }

// number is a whole number of 0 or more.
type number struct{ p *int }

func (v number) String() string { return strconv.Itoa(*v.p) }

func (v number) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number of 0 or more", s)
	}
	*v.p = n
	return nil
}

// span is a length of time such as 30s or 1h30m.
type span struct{ p *time.Duration }

func (v span) String() string {
	s := v.p.String()
	s = strings.TrimSuffix(s, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(s, "m0s")]
	return strings.TrimSuffix(s, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(s, "h0m")]
}

func (v span) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration such as 30s, 5m or 1h30m", s)
	}
	*v.p = d
	return nil
}
