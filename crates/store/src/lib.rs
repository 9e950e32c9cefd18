//! What storage promises: the ports, MemoryStore, and the suite every store passes.
