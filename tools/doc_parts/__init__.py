"""What `tools.docs` writes, by what it is about. Each function returns Markdown, asked of the code itself."""
