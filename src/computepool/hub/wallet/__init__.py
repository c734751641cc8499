"""What people see of their money: balances, entries, statements, and where every credit of a job went."""
