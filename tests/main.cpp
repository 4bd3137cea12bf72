#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
/// Some tests fork the process, and the child makes an engine of its own.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif
#endif
