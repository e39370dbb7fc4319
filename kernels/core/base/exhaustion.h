// Ends of a program that uses gRPC. Without memory or threads it ends at once, with one line: a
// library that such a failure unwinds does not recover. gRPC swallows what its callbacks throw, so
// a call never ends, and waits at its own end for threads that were never made.
#pragma once

#include <string_view>

namespace railgauge {

// From now on a failed operator new ends the process, unless MayFail allows the failure, and a
// process that aborts or crashes without memory says so, as gRPC makes it do. `program` begins each
// line and stays valid. Call it once, before other threads exist.
void end_when_exhausted(const char* program);
// Whether the caller has to end the process when it cannot make a thread: end_when_exhausted() was
// called, and no MayFail lives on this thread. Thread safe.
[[nodiscard]] bool ends_when_exhausted();
// Writes "PROGRAM: CAUSE" to stderr and aborts. Allocates nothing, takes no lock. Thread safe.
[[noreturn]] void end_exhausted(std::string_view cause);

// Writes what stdio holds and ends the process without the handlers of exit(). A thread of gRPC may
// be in a TLS handshake also after its channel or server is gone, and a handler of OpenSSL frees
// the library's state below it. The address sanitizer looks for leaks first. Thread safe.
[[noreturn]] void end_program(int code);

// While one lives on this thread, operator new throws std::bad_alloc for what is too large, and a
// thread that cannot be made is an error: its code handles both. Without a megabyte left for others
// the process ends all the same.
class MayFail {
 public:
  MayFail();
  ~MayFail();
  MayFail(const MayFail&) = delete;
  MayFail& operator=(const MayFail&) = delete;
};

}  // namespace railgauge
