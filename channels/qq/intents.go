package qq

import "github.com/tencent-connect/botgo/dto"

// intents asks for what the account has: an intent that it does not have ends
// the connection, and then it is asked for no more for a while.
func (q *QQ) intents() dto.Intent {
	all := dto.IntentGroupMessages
	if q.learnt.works(onPresses) {
		all |= dto.IntentInteraction
	}
	if q.learnt.works(onMembers) {
		all |= intentMembers
	}
	return all
}

// intentMembers is for who joins and leaves groups; botgo does not name it.
const intentMembers dto.Intent = 1 << 24

// fewerIntents gives up one that the account may lack; false when there is
// none left that the bot can do without. The platform does not say which it
// refuses.
func (q *QQ) fewerIntents(why error) bool {
	for _, f := range []feature{onMembers, onPresses} {
		if q.learnt.works(f) {
			q.learnt.refused(f, why)
			return true
		}
	}
	return false
}
