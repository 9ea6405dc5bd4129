examples:
tools:
compile_commands.json:
