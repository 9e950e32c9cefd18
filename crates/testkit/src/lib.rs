//! History builder, fixtures and a simulated clock, for tests.
