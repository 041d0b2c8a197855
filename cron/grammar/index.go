package grammar

// index sorts the rules by the tokens with which they may begin.
func (g *Grammar) index(c *category) {
	c.first = map[int32][]int32{}
	for n, r := range c.rules {
		b := begin{words: map[int32]bool{}}
		b.rule(g, r, map[*category]bool{c: true})
		if b.any {
			c.open = append(c.open, int32(n))
			continue
		}
		for w := range b.words {
			c.first[w] = append(c.first[w], int32(n))
		}
		for k := range Class(classes) {
			if b.class&(1<<k) != 0 {
				c.class[k] = append(c.class[k], int32(n))
			}
		}
	}
}

// begin is with what a rule may begin.
type begin struct {
	words map[int32]bool
	class Class
	any   bool
}
