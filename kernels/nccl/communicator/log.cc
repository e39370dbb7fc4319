// Reads NCCL's lines one by one, each by the words that surround its values. A line of an unknown
// release yields no fact and no error.
#include "kernels/nccl/communicator/log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/text.h"

namespace railgauge::nccl {
namespace {

// Bounds on what the output of thousands of connections may add to a result.
constexpr std::size_t kMaxKinds = 32;  // of transports, of HCAs
constexpr std::size_t kMaxChoices = 256;
constexpr std::size_t kMaxFact = 500;

// Numbers of the older releases.
constexpr std::array kAlgorithms{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                 "NVLS_TREE", "PAT"};
constexpr std::array kProtocols{"LL", "LL128", "SIMPLE"};

// Returns the text behind `mark` in the line, or nothing.
std::optional<std::string_view> after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}
// All of the text where the mark is not in it.
std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, text.find(mark));
}
std::string_view word(std::string_view text) { return before(text, " "); }
// Without blanks and a carriage return at its ends.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// A name in capitals, from a number of older releases or from the name that newer ones print.
template <std::size_t n>
std::string name_of(std::string_view given, const std::array<const char*, n>& names) {
  std::size_t number = n;
  const auto parsed = std::from_chars(given.data(), given.data() + given.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == given.data() + given.size() && number < n)
    return names[number];
  std::string upper(given);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

// "AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}", or with numbers and no name
// of the operation in front.
// Kernels over symmetric memory, and copies by the GPU's copy engines, have lines of their own:
// "AllReduce [Symmetric]: 1024 Bytes -> Kernel AllReduce_RSxLD_AGxST ...".
void take_other_choice(std::string_view line, LogFacts& seen) {
  constexpr std::array kForms{std::pair{" [Symmetric]: ", "symmetric"},
                              std::pair{" [Copy Engine]: ", "copy engine"},
                              std::pair{" [Hierarchical CE]: ", "copy engine"}};
  for (const auto& [mark, algorithm] : kForms) {
    const auto rest = after(line, mark);
    if (!rest || seen.choices.size() == kMaxChoices) continue;
    Choice choice;
    const std::string_view name = before(line, mark);
    choice.operation = name.substr(name.find_last_of(' ') + 1);
    std::from_chars(rest->data(), rest->data() + rest->size(), choice.bytes);
    choice.algorithm = algorithm;
    const auto kernel = after(*rest, " -> Kernel ");
    choice.protocol = kernel ? std::string(word(*kernel)) : "none";
    seen.choices.push_back(std::move(choice));
  }
}

void take_choice(std::string_view line, LogFacts& seen) {
  const auto chosen = after(line, " Bytes -> Algo ");
  if (!chosen || seen.choices.size() == kMaxChoices) return;
  std::string_view front = before(line, " Bytes -> Algo ");
  Choice choice;
  const std::size_t number = front.find_last_of(' ');
  const std::string_view bytes =
      number == std::string_view::npos ? front : front.substr(number + 1);
  if (std::from_chars(bytes.data(), bytes.data() + bytes.size(), choice.bytes).ec != std::errc())
    return;
  if (number != std::string_view::npos) {
    const std::string_view rest = front.substr(0, number);
    if (rest.ends_with(":")) {
      const std::string_view name = rest.substr(0, rest.size() - 1);
      choice.operation = name.substr(name.find_last_of(' ') + 1);
    }
  }
  choice.algorithm = name_of(word(*chosen), kAlgorithms);
  const auto protocol = after(*chosen, "proto ");
  if (!protocol) return;
  choice.protocol = name_of(word(trimmed(*protocol)), kProtocols);
  if (const auto channels = after(*chosen, "={")) choice.channels = before(*channels, "}");
  seen.choices.push_back(std::move(choice));
}

// A name that may have blanks in it ("AWS Libfabric"), to the end of the line or the communicator.
std::string_view name_in(std::string_view text) {
  return trimmed(before(before(text, " comm 0x"), " to comm"));
}

// "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM": counts the connection by its kind.
void take_connection(std::string_view line, LogFacts& seen) {
  const auto channel = after(line, "Channel ");
  if (!channel) return;
  const auto via = after(*channel, " via ");
  if (!via || channel->find("->") == std::string_view::npos) return;
  const std::string kind(name_in(*via));
  if (seen.connections.contains(kind) || seen.connections.size() < kMaxKinds)
    ++seen.connections[kind];
}

// "GPU Direct RDMA Enabled for HCA 0 'mlx5_0'": by the quoted name of the HCA.
void take_gdr(std::string_view line, LogFacts& seen) {
  const auto about = after(line, "GPU Direct RDMA ");
  if (!about || seen.gdr.size() == kMaxKinds) return;
  const auto quoted = after(*about, "'");
  if (!quoted || quoted->find('\'') == std::string_view::npos) return;
  const bool enabled = about->starts_with("Enabled");
  if (enabled || about->starts_with("Disabled"))
    seen.gdr[std::string(before(*quoted, "'"))] = enabled;
}

// "16 coll channels, 0 nvls channels, ...", without the repeated word.
void take_channels(std::string_view line, LogFacts& seen) {
  if (line.find(" coll channels, ") == std::string_view::npos) return;
  const auto info = after(line, "NCCL INFO ");
  std::string text(trimmed(info ? *info : line));
  for (std::size_t at = text.find(" channels"); at != std::string::npos;
       at = text.find(" channels", at))
    text.erase(at, std::string_view(" channels").size());
  seen.channels = text.substr(0, kMaxFact);
}

// Newer releases name the network when the communicator is assigned its plugin; the older line
// wins.
void take_network(std::string_view line, LogFacts& seen) {
  if (const auto network = after(line, "Using network ")) seen.network = name_in(*network);
  if (const auto network = after(line, "Assigned NET plugin "); network && seen.network.empty())
    seen.network = name_in(*network);
  if (const auto plugin = after(line, "Loaded net plugin "))
    seen.plugin = trimmed(before(*plugin, " ("));
  for (const std::string_view mark : {"NET/IB : Using ", "NET/Socket : Using "})
    if (const auto devices = after(line, mark); devices && devices->starts_with("["))
      seen.devices = trimmed(before(*devices, ";"));
}

// "NVLS multicast support is (not) available on dev 0".
void take_nvls(std::string_view line, LogFacts& seen) {
  const auto about = after(line, "NVLS multicast support is ");
  if (!about) return;
  // Several GPUs in one process: what one of them lacks, none has.
  const bool there = about->starts_with("available");
  seen.nvls = seen.nvls.value_or(true) && there;
}

// Returns the use of GPUDirect RDMA by connections over a network; "" without any.
std::string gdr_use(const LogFacts& seen) {
  int all = 0;
  int direct = 0;
  std::string without;
  for (const auto& [kind, count] : seen.connections) {
    if (!kind.starts_with("NET/")) continue;
    all += count;
    if (kind.find("GDRDMA") != std::string::npos)
      direct += count;
    else
      without += (without.empty() ? "" : ", ") + kind;
  }
  if (all == 0) return "";
  if (direct == 0) return "not used";
  return fmt::format("used by {} of {} connections{}", direct, all,
                     without.empty() ? "" : "; not by " + without);
}

// The place of a network device in a kind of connection, "NET/IB/3/GDRDMA": 3.
std::optional<std::size_t> device_of(std::string_view kind) {
  for (std::size_t at = kind.find('/'); at != std::string_view::npos; at = kind.find('/', at + 1)) {
    const std::string_view rest = kind.substr(at + 1);
    std::size_t number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (parsed.ec != std::errc()) continue;
    const std::string_view behind = rest.substr(static_cast<std::size_t>(parsed.ptr - rest.data()));
    if (behind.empty() || behind.front() == '/' || behind.front() == '(') return number;
  }
  return std::nullopt;
}

// "mlx5_0:1/RoCE" for 0 of "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE"; "device 0" where the line lacks it.
std::string device_name(const LogFacts& seen, std::size_t number) {
  const auto found = after(seen.devices, fmt::format("[{}]", number));
  return found ? std::string(word(*found)) : fmt::format("device {}", number);
}

// "mlx5_0:1/RoCE on, mlx5_1:1/RoCE off": by the rails that connections really use.
std::string gdr_by_rail(const LogFacts& seen) {
  struct Rail {
    int all = 0;
    int direct = 0;
  };
  std::map<std::size_t, Rail> rails;
  for (const auto& [kind, count] : seen.connections) {
    const auto device = kind.starts_with("NET/") ? device_of(kind) : std::nullopt;
    if (!device) continue;
    rails[*device].all += count;
    if (kind.find("GDRDMA") != std::string::npos) rails[*device].direct += count;
  }
  std::string words;
  for (const auto& [device, rail] : rails)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", device_name(seen, device),
                         rail.direct == 0 ? "off"
                         : rail.direct == rail.all
                             ? "on"
                             : fmt::format("on for {} of {} connections", rail.direct, rail.all));
  return words;
}

// Cuts the text at kMaxFact bytes and makes it valid UTF-8, whatever NCCL printed.
std::string short_fact(std::string text) {
  if (text.size() > kMaxFact) text = text.substr(0, kMaxFact) + "...";
  return valid_utf8(text);
}

}  // namespace

// A later line replaces an earlier one of the same kind; connections and choices add up.
LogFacts parse_log(std::string_view text) {
  LogFacts seen;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return seen;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (const auto version = after(line, "NCCL version ")) seen.version = word(trimmed(*version));
    take_network(line, seen);
    take_connection(line, seen);
    take_gdr(line, seen);
    take_channels(line, seen);
    take_nvls(line, seen);
    take_choice(line, seen);
    take_other_choice(line, seen);
    if (line.find("DMA-BUF is available") != std::string_view::npos) seen.dma_buf = true;
  }
}

// Omits absent facts: the report never contains "unknown".
void report(const LogFacts& seen, Reporter& reporter) {
  const auto add = [&reporter](const char* name, std::string value) {
    if (!value.empty()) reporter.fact(name, short_fact(std::move(value)));
  };
  add("nccl_version", seen.version);
  add("nccl_network", seen.network);
  add("nccl_net_plugin", seen.plugin);
  add("nccl_net_devices", seen.devices);
  add("nccl_channels", seen.channels);
  std::string transports;
  for (const auto& [kind, count] : seen.connections)
    transports += fmt::format("{}{} ({})", transports.empty() ? "" : ", ", kind, count);
  add("nccl_transports", transports);
  add("nccl_gdr", gdr_use(seen));
  add("nccl_gdr_rails", gdr_by_rail(seen));
  std::string hcas;
  for (const auto& [hca, enabled] : seen.gdr)
    hcas += fmt::format("{}{} {}", hcas.empty() ? "" : ", ", hca, enabled ? "on" : "off");
  add("nccl_gdr_possible", hcas);
  if (seen.dma_buf) add("nccl_dma_buf", *seen.dma_buf ? "available" : "not available");
  if (seen.nvls) add("nccl_nvls", *seen.nvls ? "available" : "not available");
}

// In the order of their names.
std::vector<std::string> kinds_of(const LogFacts& seen) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : seen.connections) kinds.push_back(valid_utf8(kind));
  return kinds;
}

// "mlx5_0:1/RoCE" has a kind behind the port; "eth0:192.0.2.1<0>" an address behind the interface.
std::vector<std::string> ports_of(const LogFacts& seen) {
  std::set<std::string> ports;
  for (const auto& [kind, count] : seen.connections) {
    const auto device = kind.starts_with("NET/") ? device_of(kind) : std::nullopt;
    if (!device || !after(seen.devices, fmt::format("[{}]", *device))) continue;
    const std::string name = device_name(seen, *device);
    const std::size_t slash = name.find('/');
    ports.insert(name.substr(0, slash != std::string::npos ? slash : name.find(':')));
  }
  return {ports.begin(), ports.end()};
}

// Sorted by the set, so that equal sets make equal texts.
std::string path_of(const std::set<std::string>& kinds) {
  return short_fact(fmt::format("{}", fmt::join(kinds, ", ")));
}

// The names and the mapping of old integers are those of NCCL's src/graph/paths.
std::string gdr_level_in_words(const std::string& value) {
  constexpr std::array kNames{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  constexpr std::array kOldNumbers{"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
  for (const char* name : kNames)
    if (value == name) return name;
  if (value.empty() || value.front() < '0' || value.front() > '9') return "";
  const auto number = static_cast<std::size_t>(std::strtoul(value.c_str(), nullptr, 0));
  return kOldNumbers[std::min(number, kOldNumbers.size() - 1)];
}

}  // namespace railgauge::nccl
