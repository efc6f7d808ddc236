"""Discretization: numeric columns become intervals, rare levels become one."""
