//! mpk-tasks
