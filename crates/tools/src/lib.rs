//! One module per tool kind, and how a command's templates become a tool's configuration.
