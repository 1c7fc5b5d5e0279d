#define JOIN(a) \
    __syncthreads()
dep_wait();
JOIN(0);
y.store(0, 0, 0.0f);
