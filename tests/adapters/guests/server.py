"""A server of the Model Context Protocol for the tests: a list that grows."""

import os
from pathlib import Path

try:
    from mcp.server import MCPServer
except ImportError:  # of the first generation
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("list")
items = []


@server.tool()
def add(item: str) -> str:
    """Adds an item."""
    items.append(item)
    return f"added {item}"


@server.tool()
def show() -> str:
    """Shows all items."""
    return " ".join(items) or "nothing"


@server.tool()
def spin(mark: str) -> str:
    """Writes its number to a file and never answers."""
    Path(mark).write_text(str(os.getpid()))
    while True:
        pass


@server.tool()
def forget(tool: str) -> str:
    """The server has this tool no longer."""
    server.remove_tool(tool)
    return f"forgot {tool}"


if __name__ == "__main__":
    server.run()
