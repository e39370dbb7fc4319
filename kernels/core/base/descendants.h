// The processes that descend from this one, as /proc shows them. Knows no other room and not
// protobuf. Thread safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <vector>

namespace railgauge {

struct Relation {
  pid_t parent = 0;
  bool lives = false;  // false: it has ended and waits to be reaped
};
// By process id.
using Relations = std::map<pid_t, Relation>;

// Reads all processes. Empty where /proc is missing or has another namespace's numbers. Processes
// that begin meanwhile may be missing.
Relations read_relations();

// The descendants of `self`, ended ones too, except the children in `spared` and all below them.
// Pure.
std::vector<pid_t> descendants_of(pid_t self, const Relations& all,
                                  const std::set<pid_t>& spared = {});

}  // namespace railgauge
