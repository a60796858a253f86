package ddl

func (r *reader) admin()              {}
func (r *reader) showTTL() bool       { return false }
func (r *reader) showVariables() bool { return false }
func (r *reader) explainTTL() bool    { return false }
func (r *reader) set()                {}
func (r *reader) references()         {}
