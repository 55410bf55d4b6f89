"""The language of the shell: scripts are read, and run command by command."""
