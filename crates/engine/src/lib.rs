//! decide, evolve, replay: what follows from an input, and what an event changes.
