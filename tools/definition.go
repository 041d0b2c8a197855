package tools

import "encoding/json"

// Definition is a tool as an OpenAI-compatible model is told of it.
type Definition struct {
	Type     string   `json:"type"` // always "function"
	Function Function `json:"function"`
}

// Function is the inner part of a Definition.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// AnthropicDefinition is a tool as Anthropic's models are told of it.
type AnthropicDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Definition writes the spec in OpenAI's function format.
func (s Spec) Definition() Definition {
	return Definition{Type: "function", Function: Function{Name: s.Name, Description: s.Description, Parameters: s.Schema}}
}

// Anthropic derives Anthropic's format.
func (d Definition) Anthropic() AnthropicDefinition {
	return AnthropicDefinition{Name: d.Function.Name, Description: d.Function.Description, InputSchema: d.Function.Parameters}
}
