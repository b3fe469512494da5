"""One self-contained page about measured drafts: what it says, and the template that says it."""
