// x.at(0, 0) in a comment is nothing.
#define FIRST x.at(0, 0)
const char* text = "x.at(0, 0)";
float first = FIRST;
dep_wait();
y.store(0, 0, first);
