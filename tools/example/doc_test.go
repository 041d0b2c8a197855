package example_test

import (
	"os"
	"strings"
	"testing"
)

// TOOL-17: the page shows exactly the files that are built and tested here.
func TestThePageShowsTheseFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-a-tool.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, fence := range map[string]string{"roll_dice.md": "```text\n", "roll_dice.go": "```go\n", "roll_dice_test.go": "```go\n"} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), fence+string(file)+"```\n") {
			t.Errorf("docs/adding-a-tool.md does not show %s as it is", name)
		}
	}
}
