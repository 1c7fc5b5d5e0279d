#include "own.cuh"
#define JOIN(a, b) a##b
#define TEXT(a) #a
dep_wait();
JOIN(__sync, threads)();
__sync\
threads();
asm volatile(TEXT(bar.sync 0;));
asm volatile("bar\
.sync 0;");
<% y.store(0, 0, x.at(0, 0)); %>
