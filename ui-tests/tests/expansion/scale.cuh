// The scale of a row.
dep_wait();
for (int n = role_thread(); n < N; n += 128) {
    y.store(0, n, x.at(0, n) * factor);
}
