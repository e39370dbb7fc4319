// bundle: everything about a run, a finding or a node in one archive, readable without Railgauge.
#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <ostream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/bundle/redact.h"
#include "controller/cli/peers/peer_commands.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/report/run_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kPartSeconds = 120;
constexpr double kPointsSeconds = 3600;
constexpr double kNodeDays = 30;                     // of a node's points
constexpr std::size_t kMaxReportBytes = 16U << 20U;  // of its tasks
constexpr std::size_t kMaxFolderBytes = 60;          // tar's names have 100

// A name that is a file's on every system.
std::string file_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return name.substr(0, kMaxFolderBytes);
}

constexpr std::size_t kBlockBytes = 512;
constexpr std::uint64_t kOctalLimit = std::uint64_t{1} << 33U;  // 11 digits: 8 GiB

// As GNU tar and all others since write what octal digits do not hold: a mark, then the number with
// its highest byte first.
std::string large_number(std::uint64_t number) {
  std::string field(12, '\0');
  field[0] = '\x80';
  for (std::size_t i = 0; i < sizeof number; ++i)
    field[field.size() - 1 - i] = static_cast<char>(number >> (8 * i) & 0xffU);
  return field;
}

// A tar archive (POSIX ustar) of regular files, written as it grows. Not thread safe.
class TarWriter {
 public:
  // `out` must be seekable and outlive the writer. `unix_seconds` is the time of all files.
  // Failures to write are in the state of `out`; test it at the end.
  TarWriter(std::ostream& out, std::int64_t unix_seconds)
      : out_(out), unix_seconds_(unix_seconds) {}

  // A name of 1 to 100 bytes. Its file ends with the next begin() or end().
  // The header is written twice: now with size 0 to keep its place, and at the file's end with the
  // size.
  void begin(std::string_view name) {
    finish_file();
    RG_CHECK(!name.empty() && name.size() < sizeof name_);
    std::ranges::fill(name_, '\0');
    std::ranges::copy(name, name_);
    header_at_ = out_.tellp();
    size_ = 0;
    write_header();
  }
  // Content goes straight to the stream; only its size is kept for the header.
  void append(std::string_view bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    size_ += bytes.size();
  }
  // Two empty blocks end an archive.
  void end() {
    finish_file();
    out_ << std::string(2 * kBlockBytes, '\0');  // two empty blocks
    out_.flush();
  }

 private:
  // Fields at their places, numbers in octal; the sum is that of all bytes with blanks in its
  // place.
  void write_header() {
    std::array<char, kBlockBytes> block{};
    const auto put = [&block](std::size_t at, std::string_view text) {
      std::ranges::copy(text, block.begin() + static_cast<std::ptrdiff_t>(at));
    };
    // name, mode, user, group, size, time, sum, type, magic: offsets of POSIX ustar.
    put(0, name_);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, size_ < kOctalLimit ? fmt::format("{:011o}", size_) : large_number(size_));
    put(136, fmt::format("{:011o}", unix_seconds_));
    put(148, "        ");
    put(156, "0");
    put(257, std::string_view("ustar\00000", 8));
    const unsigned sum = std::accumulate(
        block.begin(), block.end(), 0U,
        [](unsigned total, char c) { return total + static_cast<unsigned char>(c); });
    put(148, fmt::format("{:06o}", sum));
    block.at(154) = '\0';
    out_.write(block.data(), block.size());
  }
  // Fills the last block, then goes back to the header and writes the size.
  void finish_file() {
    if (header_at_ == std::streampos(-1)) return;
    out_ << std::string((kBlockBytes - size_ % kBlockBytes) % kBlockBytes, '\0');
    const std::streampos end = out_.tellp();
    out_.seekp(header_at_);
    write_header();  // now that the size is known
    out_.seekp(end);
    header_at_ = -1;
  }

  std::ostream& out_;
  const std::int64_t unix_seconds_;
  std::streampos header_at_ = -1;  // of the file that is being written
  std::string_view::size_type size_ = 0;
  char name_[101] = {};
};

// The bundle while it is written: every text goes through here.
class Bundle {
 public:
  Bundle(std::ostream& out, std::string folder, bool redact)
      : tar_(out, std::time(nullptr)), folder_(std::move(folder)), redact_(redact) {}

  // Starts a file of the archive and adds its line to the README's list of contents.
  void begin(const std::string& name, const std::string& about) {
    tar_.begin(fmt::format("{}/{}", folder_, name));
    contents_ += fmt::format("{:<22} {}\n", name, about);
    ++files_;
  }
  // Every byte of content passes clean(): secrets always go, names where the bundle is redacted.
  void append(std::string_view text) { tar_.append(clean(text)); }
  // Registers a name to be replaced; without effect where nothing is redacted.
  void learn(std::string_view kind, std::string_view name) {
    if (redact_) redactor_.learn(kind, name);
  }
  [[nodiscard]] std::string clean(std::string_view text) {
    std::string safe = without_secrets(text);
    return redact_ ? redactor_.apply(safe) : safe;
  }
  // Writes the README last, because it lists the files, and closes the archive.
  void end(const std::string& subject, bool is_synthetic) {
    const std::string readme = fmt::format(
        "What Railgauge {} has stored about {} {}.\n{}Tables are CSV with a header line; a "
        "column's "
        "name ends in its unit; cells in braces are JSON.\n{}\n{}",
        RAILGAUGE_VERSION, kind_, clean(subject),
        is_synthetic ? "SYNTHETIC: it is of a modelled site and measures no hardware.\n" : "",
        redact_ ? "Names and addresses are replaced by numbered words, the suites' texts are left "
                  "out. Read what people and libraries wrote (notes, log tails) before you send it."
                : "Names and addresses are as they were.",
        contents_);
    tar_.begin(folder_ + "/README.txt");
    tar_.append(readme);
    ++files_;
    tar_.end();
  }
  void set_kind(const std::string& kind) { kind_ = kind; }
  [[nodiscard]] bool redacts() const { return redact_; }
  [[nodiscard]] std::uint32_t files() const { return files_; }

 private:
  TarWriter tar_;
  const std::string folder_;
  const bool redact_;
  Redactor redactor_;
  std::string kind_;
  std::string contents_;
  std::uint32_t files_ = 0;
};

// All parts of the subject's data, one call each, until the controller marks the last one. The
// first part says what the subject is.
Result<std::vector<BundlePart>> fetch_parts(Session& session, const std::string& subject) {
  std::vector<BundlePart> parts;
  while (parts.empty() || !parts.back().last()) {
    auto request = request_for<BundleRequest>(subject);
    request.set_part(static_cast<std::uint32_t>(parts.size()));
    parts.push_back(RG_TRY(call(session, rpc::kGetBundlePart, request, kPartSeconds)));
  }
  return parts;
}

// All names that nodes ever had, and people's: only to be recognized, never written.
constexpr std::string_view kKnownNames = "known_names";
constexpr std::string_view kNodeList = "node list";  // in a cell, as JSON

// Which columns hold names, whatever table they are in.
std::string_view kind_of_column(std::string_view part, std::string_view column) {
  if (column == "leaf") return "leaf";
  if (column == "person") return "person";
  if (column == "node" || part == kKnownNames ||
      ((part == "nodes" || part == "node_names") && column == "name"))
    return "node";
  if (part == "runs" && column == "nodes") return kNodeList;
  if (column == "node_id") return "id";
  if (column == "requested_by" || column == "who") return "person";
  if (column == "guid" || column == "address") return "address";
  return "";
}

// Learns the node names of a JSON list.
void learn_list(std::string_view list, Bundle& bundle) {
  for (std::size_t at = 0; (at = list.find('"', at)) != std::string_view::npos;) {
    const std::size_t end = list.find('"', at + 1);  // names have no quotes and no backslashes
    if (end == std::string_view::npos) return;
    bundle.learn("node", list.substr(at + 1, end - at - 1));
    at = end + 1;
  }
}

// Learns the switch that a node is connected to, from its facts.
void learn_leaf(std::string_view facts, Bundle& bundle) {
  constexpr std::string_view kKey = "\"leaf\":\"";
  const std::size_t at = facts.find(kKey);
  if (at == std::string_view::npos) return;
  const std::string_view rest = facts.substr(at + kKey.size());
  bundle.learn("leaf", rest.substr(0, rest.find('"')));
}

// Goes through all parts before anything is written: a name in the first file may be known by the
// last part only.
void learn_names(const std::vector<BundlePart>& parts, Bundle& bundle) {
  for (const BundlePart& part : parts)
    for (int column = 0; column < part.table().columns_size(); ++column) {
      if (part.table().columns(column) == "facts" || part.table().columns(column) == "versions")
        for (const SqlRow& row : part.table().rows())
          learn_leaf(sql_text(row.values(column)), bundle);
      const auto kind = kind_of_column(part.name(), part.table().columns(column));
      if (kind.empty()) continue;
      for (const SqlRow& row : part.table().rows()) {
        const std::string name = sql_text(row.values(column));
        kind == kNodeList ? learn_list(name, bundle) : bundle.learn(kind, name);
      }
    }
}

// Learns names that no table has: partners of a node in runs long past.
void learn_endpoints(const ResultPoint& point, Bundle& bundle) {
  for (const std::string& endpoint : point.endpoints())
    if (const std::size_t slash = endpoint.find('/'); slash != std::string::npos)
      bundle.learn("node", endpoint.substr(0, slash));
}

// One part as a CSV file. A part that the controller cut off says so in the contents.
void write_part(const BundlePart& part, Bundle& bundle) {
  if (part.name() == kKnownNames) return;
  if (part.name() == "suites" && bundle.redacts()) return;  // node sets have names in pieces
  bundle.begin(part.name() + ".csv", part.about() + (part.table().truncated() ? "; CUT OFF" : ""));
  std::vector<std::string> cells(part.table().columns().begin(), part.table().columns().end());
  bundle.append(fmt::format("{}\n", fmt::join(cells, ",")));
  for (const SqlRow& row : part.table().rows()) {
    cells.clear();
    for (const SqlValue& value : row.values())
      cells.push_back(csv_cell(bundle.clean(sql_text(value))));
    bundle.append(fmt::format("{}\n", fmt::join(cells, ",")));
  }
}

// Streams the points to results.csv, so that memory stays at one page. Errors: kCancelled after
// Ctrl-C; those of the call.
Status write_points(Session& session, const BundlePart& about, Bundle& bundle) {
  PointsRequest request;
  request.set_run_id(about.run_id().empty() ? "all" : about.run_id());
  request.set_node_set(about.node());
  request.set_all_attempts(true);
  // A node's points are bounded by time, a run's are not.
  if (about.run_id().empty())
    request.set_since_unix_seconds(static_cast<double>(std::time(nullptr)) - kNodeDays * 24 * 3600);
  bundle.begin("results.csv", about.run_id().empty() ? "its points of the last 30 days"
                                                     : "the points, also of attempts before");
  bundle.append(csv_header(*ResultPoint::descriptor()) + "\n");
  return stream_points(session, request, kPointsSeconds, [&](const ResultList& page) {
    for (const ResultPoint& point : page.points()) {
      learn_endpoints(point, bundle);
      bundle.append(csv_row(point) + "\n");
    }
    return true;
  });
}

// Every task of the run once, in pages: nothing here or in the controller holds them all.
Status for_each_task(Session& session, const std::string& run_id,
                     const std::function<Status(TaskPage& page)>& take) {
  auto request = request_for<TasksRequest>(run_id);
  do {
    auto page = RG_TRY(call(session, rpc::kGetTasks, request, kPartSeconds));
    request.set_from(page.next());
    RG_TRY_OK(take(page));
  } while (request.from() != 0);
  return {};
}

// The report as `run` prints it; of very large runs with as many tasks as fit.
Status write_report(Session& session, const std::string& run_id, Bundle& bundle) {
  RunReport report;
  report.set_schema_version(1);
  std::size_t bytes = 0;
  std::uint32_t left_out = 0;
  RG_TRY_OK(for_each_task(session, run_id, [&](TaskPage& page) -> Status {
    report.mutable_run()->Swap(page.mutable_run());
    for (TaskDetail& task : *page.mutable_tasks()) {
      bytes += task.ByteSizeLong();
      // The report of a very large run is cut; tasks.csv has all of them.
      bytes > kMaxReportBytes ? void(++left_out) : report.add_tasks()->Swap(&task);
    }
    return {};
  }));
  report.mutable_points()->Swap(RG_TRY(points_of_report(session, run_id)).mutable_points());
  compare_points(report);
  for (const auto& [format, name] :
       {std::pair{Format::kTable, "report.txt"}, std::pair{Format::kJson, "report.json"}}) {
    std::ostringstream text;
    print_report({.out = text, .err = text, .format = format}, report);
    bundle.begin(name, left_out == 0 ? "the report of run " + run_id
                                     : fmt::format("the report of run {}, WITHOUT its last {} "
                                                   "tasks; tasks.csv lists them",
                                                   run_id, left_out));
    bundle.append(text.str());
  }
  return {};
}

// For each task, how perftest, nvbandwidth, gdrcopy and nccl-tests would measure the same.
Status write_vendor_commands(Session& session, const std::string& run_id, Bundle& bundle) {
  bundle.begin("vendor_commands.csv", "how other tools would measure the same, task by task");
  bundle.append("tool," + csv_header(*PeerCommand::descriptor()) + "\n");
  return for_each_task(session, run_id, [&](TaskPage& page) -> Status {
    RunDetail detail;
    detail.mutable_run()->Swap(page.mutable_run());
    detail.mutable_tasks()->Swap(page.mutable_tasks());
    for (const char* tool : {"perftest", "nvbandwidth", "gdrcopy", "nccl-tests"}) {
      const PeerCommands commands = RG_TRY(peer_commands(detail, tool));
      for (const PeerCommand& command : commands.commands())
        bundle.append(fmt::format("{},{}\n", tool, csv_row(command)));
    }
    return {};
  });
}

// How far each GPU is from each NIC, by what the nodes say now; of nodes that are not attached
// nothing is known.
Status write_topology(Session& session, const std::vector<BundlePart>& parts, Bundle& bundle) {
  const auto nodes = std::ranges::find(parts, "nodes", &BundlePart::name);
  if (nodes == parts.end()) return {};
  std::set<std::string> wanted;
  for (int column = 0; column < nodes->table().columns_size(); ++column)
    if (nodes->table().columns(column) == "name")
      for (const SqlRow& row : nodes->table().rows()) wanted.insert(sql_text(row.values(column)));
  const NodeList list = RG_TRY(call(session, rpc::kListNodes, ListNodesRequest()));
  bundle.begin("topology.csv", "the distance between each GPU and NIC, as attached nodes say it");
  bundle.append("node,gpu,gpu_pci_address,nic,distance\n");
  for (const NodeInfo& node : list.nodes()) {
    if (!wanted.contains(node.name())) continue;
    for (const Gpu& gpu : node.gpus())
      for (const auto& [nic, distance] :
           std::map<std::string, std::string>(gpu.distances().begin(), gpu.distances().end()))
        bundle.append(fmt::format("{},{},{},{},{}\n", node.name(), gpu.name(), gpu.pci_address(),
                                  nic, distance));
  }
  return {};
}

// Whose report belongs to it: the run itself, or the newest that the node or finding is of.
std::string run_of_report(const std::vector<BundlePart>& parts) {
  if (!parts[0].run_id().empty()) return parts[0].run_id();
  const auto runs = std::ranges::find(parts, "runs", &BundlePart::name);
  if (runs == parts.end() || runs->table().rows().empty() || runs->table().columns(0) != "run_id")
    return "";
  return runs->table().rows(runs->table().rows_size() - 1).values(0).text();
}

// Writes the parts in the order in which a person reads them. Every name is learnt before the first
// text that may hold it. Returns the number of files.
Result<std::uint32_t> write_bundle(Session& session, const std::string& subject, std::ostream& out,
                                   bool redact) {
  const std::vector<BundlePart> parts = RG_TRY(fetch_parts(session, subject));
  // The folder's name must not show a node's.
  const std::string folder =
      "railgauge-" + (redact && parts[0].kind() != "run" ? parts[0].kind() : file_name(subject));
  Bundle bundle(out, folder, redact);
  bundle.set_kind(parts[0].kind());
  learn_names(parts, bundle);
  const std::string reported = run_of_report(parts);
  if (!reported.empty()) {
    RG_TRY_OK(write_report(session, reported, bundle));
    RG_TRY_OK(write_vendor_commands(session, reported, bundle));
  }
  RG_TRY_OK(write_topology(session, parts, bundle));
  for (const BundlePart& part : parts) write_part(part, bundle);
  if (parts[0].kind() != "finding" || !parts[0].run_id().empty())
    RG_TRY_OK(write_points(session, parts[0], bundle));
  bundle.end(subject, session.output.mark->is_synthetic);
  return bundle.files();
}

// A redacted bundle must not show a name in its own file name either.
std::string default_name(const std::string& subject, bool redact) {
  return redact ? fmt::format("railgauge-redacted-{}.tar", std::time(nullptr))
                : fmt::format("railgauge-{}.tar", file_name(subject));
}

}  // namespace

// Writes to FILE.part and renames it at the end: an archive under its own name is complete. An
// existing file is never overwritten.
Result<int> make_bundle(Session& session, const Arguments& arguments) {
  const std::string subject = arguments.operand(0);
  const bool redact = arguments.has("redact");
  const std::string path =
      arguments.has("file") ? arguments.value("file") : default_name(subject, redact);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return fail(Code::kInvalidArgument,
                fmt::format("bundle {}: is there already; --file names another", in_quotes(path)));
  // Written beside its final place, so that the rename is atomic.
  const std::string unfinished = path + ".part";
  const auto failed = [&path](std::string_view cause) {
    return fail(Code::kUnavailable,
                fmt::format("bundle {}: cannot be written{}; --file names another place",
                            in_quotes(path), cause));
  };
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  if (!out) return failed("");
  auto files = write_bundle(session, subject, out, redact);
  out.close();
  if (files && !out) files = failed("");
  if (files) {
    std::error_code error;
    std::filesystem::rename(unfinished, path, error);
    if (error) files = failed(": " + error.message());
  }
  if (!files) std::filesystem::remove(unfinished, ignored);
  if (!files) return tl::unexpected(files.error());
  BundleReport report;
  report.set_schema_version(1);
  report.set_path(path);
  report.set_files(*files);
  report.set_redacted(redact);
  return print_page(session.output, report, line_of(fmt::format("{}: {} files", path, *files)));
}

}  // namespace railgauge::cli
