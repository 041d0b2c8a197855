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
