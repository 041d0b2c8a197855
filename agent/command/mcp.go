package command

import (
	"context"
	"fmt"
	"strings"
)

// MCPServer is a server of tools as /mcp shows it.
type MCPServer struct {
	Name      string
	Connected bool
	Tools     int
	Trouble   string // the last one, "" none
	// Stray counts what it printed in the place of messages.
	Stray int
	// Closed is what its configuration names and its sandbox keeps it from.
	Closed []string
}

func runMCP(_ context.Context, s *Set, r *request) (string, error) {
	servers := s.ports.MCP()
	if len(servers) == 0 {
		return r.pick("No MCP server is configured.", "没有配置 MCP 服务器。"), nil
	}
	var b strings.Builder
	for _, srv := range servers {
		if srv.Connected {
			fmt.Fprintf(&b, r.pick("- ✅ %s: %d tools\n", "- ✅ %s：%d 个工具\n"), code(srv.Name), srv.Tools)
			if s.admin(r) {
				b.WriteString(r.notes(srv))
			}
			continue
		}
		why := srv.Trouble
		if why == "" || !s.admin(r) { // it may name what only the operator should see
			why = r.pick("not connected", "未连接")
		}
		fmt.Fprintf(&b, "- ❌ %s: %s\n", code(srv.Name), cut(why))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// notes is what an operator should know of a server that works.
func (r *request) notes(srv MCPServer) (text string) {
	if len(srv.Closed) > 0 {
		text += fmt.Sprintf(r.pick("  ⚠️ out of its reach: %s; %s opens it\n", "  ⚠️ 够不着：%s；用 %s 开放\n"),
			cut(strings.Join(srv.Closed, ", ")), code("tools.mcp_servers."+srv.Name+".paths"))
	}
	if srv.Stray > 0 {
		text += fmt.Sprintf(r.pick("  ⚠️ prints to its standard output what are no messages (%d times)\n", "  ⚠️ 在标准输出里打印了不是消息的内容（%d 次）\n"), srv.Stray)
	}
	return text
}
