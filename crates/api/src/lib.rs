//! What a worker says to a control plane, and a control plane to a worker.
