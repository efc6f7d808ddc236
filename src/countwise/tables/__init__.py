"""ROWS: files, frames and arrays become coded tables with a schema."""
