#define JOIN(a) \
    __syncthreads()
dep_wait();
JOIN(0);
