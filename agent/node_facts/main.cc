// railgauge-node-facts: facts of this node that need a capability, for the agent, which has none.
// As a service behind a socket (deploy/systemd), or beside an agent that may gain privileges:
//   setcap cap_sys_admin,cap_syslog+ep /usr/bin/railgauge-node-facts
#include <cstdio>
#include <cstring>
#include <exception>

#include "agent/node_facts/facts.h"

int main(int argc, char** argv) {
  const bool list = argc == 2 && std::strcmp(argv[1], "--list") == 0;
  if (argc > 1 && !list) {
    std::fputs("railgauge-node-facts: takes nothing but --list, which names its facts\n", stderr);
    return 2;
  }
  try {
    std::fputs(
        (list ? railgauge::agent::privileged_facts_list() : railgauge::agent::privileged_facts(""))
            .c_str(),
        stdout);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "railgauge-node-facts: %s\n", error.what());
    return 4;
  }
  return 0;
}
