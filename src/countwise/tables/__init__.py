"""Tables: files, frames and arrays become coded rows with a schema."""
