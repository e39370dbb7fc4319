// railgauge-attacker: the client of deploy/e2e/trust.sh and chaos.sh that attacks a controller on
// loopback. For tests only; it is in no package.
#include <signal.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "controller/testing/attacker/attacks.h"

namespace railgauge::attacker {
namespace {

struct Verb {
  std::string_view name;
  int (*carry_out)(const Arguments&);
};
constexpr std::array kVerbs{Verb{"port", free_ports},       Verb{"hold", hold_connections},
                            Verb{"openings", open_at_rate}, Verb{"streams", open_streams},
                            Verb{"hellos", send_hellos},    Verb{"puppet", run_puppet},
                            Verb{"proxy", run_proxy},       Verb{"compare", compare_spools}};

int carry_out(const std::string& name, const Arguments& arguments) {
  for (const Verb& verb : kVerbs)
    if (verb.name == name) return verb.carry_out(arguments);
  fmt::print(stderr, "railgauge-attacker: \"{}\": no such attack\n", name);
  return 2;
}

}  // namespace
}  // namespace railgauge::attacker

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return railgauge::attacker::carry_out("", {});
  return railgauge::attacker::carry_out(
      words.front(), railgauge::attacker::Arguments({words.begin() + 1, words.end()}));
}
