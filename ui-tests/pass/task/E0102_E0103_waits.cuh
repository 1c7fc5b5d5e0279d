// The first wait is for x alone: x.at() and dep_wait() in a comment are nothing.
#define SUM(t, n) (x.at(t, n) + r.at(t, n))
#define WAIT(port) dep_wait(port)
WAIT(x);
const float first = x.at(0, 0);
dep_wait(r);
y.store(0, 0, SUM(0, 0) + first);
