"""Which drafted tokens stand, and what replaces a rejected one."""
