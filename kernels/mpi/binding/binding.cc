// The MPI of railgauge-runner-openmpi and railgauge-runner-mpich: compiled once for each, with its
// own <mpi.h>. MPICH's functions are looked up at run time, so its program starts without MPI and
// finds the library under any of its names. Open MPI's library is linked, since its handles are
// addresses in the library. MPI 3 only.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/spawn.h"
#include "kernels/dl/library.h"
#include "kernels/mpi/binding/calls.h"
#include "kernels/mpi/binding/library_facts.h"

// One row a function: slot, symbol.
#define RAILGAUGE_MPI_FUNCTIONS(ROW)                \
  ROW(init, MPI_Init)                               \
  ROW(finalize, MPI_Finalize)                       \
  ROW(initialized, MPI_Initialized)                 \
  ROW(get_library_version, MPI_Get_library_version) \
  ROW(get_version, MPI_Get_version)                 \
  ROW(comm_rank, MPI_Comm_rank)                     \
  ROW(comm_size, MPI_Comm_size)                     \
  ROW(send, MPI_Send)                               \
  ROW(recv, MPI_Recv)                               \
  ROW(isend, MPI_Isend)                             \
  ROW(irecv, MPI_Irecv)                             \
  ROW(waitall, MPI_Waitall)                         \
  ROW(barrier, MPI_Barrier)                         \
  ROW(bcast, MPI_Bcast)                             \
  ROW(gather, MPI_Gather)                           \
  ROW(allgather, MPI_Allgather)                     \
  ROW(alltoall, MPI_Alltoall)                       \
  ROW(reduce, MPI_Reduce)                           \
  ROW(allreduce, MPI_Allreduce)                     \
  ROW(reduce_scatter, MPI_Reduce_scatter)           \
  ROW(comm_set_errhandler, MPI_Comm_set_errhandler) \
  ROW(win_create, MPI_Win_create)                   \
  ROW(win_free, MPI_Win_free)                       \
  ROW(win_lock_all, MPI_Win_lock_all)               \
  ROW(win_unlock_all, MPI_Win_unlock_all)           \
  ROW(win_flush, MPI_Win_flush)                     \
  ROW(win_sync, MPI_Win_sync)                       \
  ROW(put, MPI_Put)                                 \
  ROW(get, MPI_Get)                                 \
  ROW(t_init, MPI_T_init_thread)                    \
  ROW(t_cvar_get_index, MPI_T_cvar_get_index)       \
  ROW(t_cvar_handle_alloc, MPI_T_cvar_handle_alloc) \
  ROW(t_cvar_handle_free, MPI_T_cvar_handle_free)   \
  ROW(t_cvar_read, MPI_T_cvar_read)

namespace railgauge::mpi {
namespace {

// One tag for all messages: ranks never have two conversations at once.
constexpr int kTag = 0x52;
constexpr unsigned kAskSeconds = 60;  // MPI_T reads each component's library

#if defined(OPEN_MPI)
constexpr const char* kImplementation = "openmpi";
// Open MPI 4 and 5 share this binary interface.
constexpr std::array kNames{"libmpi.so.40"};
constexpr const char* kHelp =
    "install Open MPI (Debian: openmpi-bin) or put its folder into LD_LIBRARY_PATH";
#else
constexpr const char* kImplementation = "mpich";
// MPICH and MVAPICH2 call it so; Debian renames it.
constexpr std::array kNames{"libmpi.so.12", "libmpich.so.12"};
constexpr const char* kHelp =
    "install MPICH (Debian: mpich) or put the folder of MPICH or MVAPICH2 into LD_LIBRARY_PATH";
#endif

// One slot for each function, typed by the MPI's own declaration.
struct Table {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_SLOT(slot, symbol) decltype(&symbol) slot = nullptr;
  RAILGAUGE_MPI_FUNCTIONS(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT
  int (*query_cuda_support)() = nullptr;  // an extension: may be absent
};

// The first of the names that loads. An error has the loader's words for each name.
Result<Library> open_library() {
  std::string words;
  for (const char* name : kNames) {
    auto library = Library::open(name);
    if (library) return library;
    words += (words.empty() ? "" : "; ") + library.error().message;
  }
  return fail(Code::kNotFound, "{}: {}; {}", kImplementation, words, kHelp);
}

// kUnimplemented where the library lacks a function, that is where it is older than MPI 3.
Result<Table> bind_table(const Library& library) {
  Table table;
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none
#define RAILGAUGE_BIND(slot, symbol) table.slot = RG_TRY(library.bind<decltype(&symbol)>(#symbol));
  RAILGAUGE_MPI_FUNCTIONS(RAILGAUGE_BIND)
#undef RAILGAUGE_BIND
  table.query_cuda_support = library.find<int (*)()>("MPIX_Query_cuda_support");
  return table;
}

int as_int(std::size_t value) { return static_cast<int>(value); }

// The functions of one MPI over MPI_COMM_WORLD. The default error handler (MPI_ERRORS_ARE_FATAL)
// remains, so return codes are not read.
class Binding final : public Calls {
 public:
  [[nodiscard]] std::string implementation() const override { return kImplementation; }
  // Binds all functions at once, so that a call in a timed loop is one indirect jump.
  Status load() override {
    if (library_) return {};
    Library library = RG_TRY(open_library());
    f_ = RG_TRY(bind_table(library));
    library_ = std::move(library);
    return {};
  }
  // MPI_Init may run once in a process, hence the flag.
  Status init() override {
    RG_TRY_OK(load());
    if (up_) return {};
    f_.init(nullptr, nullptr);
    f_.comm_rank(MPI_COMM_WORLD, &rank_);
    f_.comm_size(MPI_COMM_WORLD, &size_);
    up_ = true;
    return {};
  }
  // The failpoint lets a test make MPI_Finalize hang.
  void finalize() override {
    if (!up_) return;
    failpoint("mpi_finalize");
    f_.finalize();
    up_ = false;
  }

  // Version texts come from MPI itself. The chosen component is read from Open MPI's own variables,
  // which MPI_T does not offer; other MPIs have no such symbol and no such fact.
  [[nodiscard]] std::map<std::string, std::string> facts() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    f_.get_library_version(text.data(), &length);
    int major = 0;
    int minor = 0;
    f_.get_version(&major, &minor);
    auto facts = library_facts({text.data(), static_cast<std::size_t>(length)});
    facts["mpi"] = kImplementation;
    facts["mpi_standard"] = fmt::format("{}.{}", major, minor);
    facts["mpi_library"] = library_->path();
    if (up_)
      if (const auto* component = library_->find<const char*>("mca_pml_base_selected_component"))
        if (const std::string pml = component_name({component, kComponentBytes}, "pml");
            !pml.empty())
          facts["mpi_pml"] = pml;
    // Open MPI's pml "cm" leaves the messages to an mtl: ofi, psm2.
    if (const auto pml = facts.find("mpi_pml"); pml != facts.end() && pml->second == "cm")
      if (const auto* slot = library_->find<const char* const*>("ompi_mtl_base_selected_component");
          slot != nullptr && *slot != nullptr)
        if (const std::string mtl = component_name({*slot, kComponentBytes}, "mtl"); !mtl.empty())
          facts["mpi_mtl"] = mtl;
    return facts;
  }
  [[nodiscard]] Result<std::set<std::string>> controls_among(
      const std::vector<std::string>& names) const override {
    PipeEnds pipe = RG_TRY(make_pipe());
    // A fork before MPI_Init: the child uses MPI_T and ends.
    const pid_t child =
        RG_TRY(fork_process("MPI_T", [&] { return answer(names, pipe.write.get()); }));
    pipe.write.reset();
    std::string answers;
    read_available(pipe.read.get(), names.size() + 1, answers);
    wait_for_end(child);
    // The child was ended by its alarm, or crashed.
    if (answers.size() != names.size())
      return fail(Code::kInternal, "{}: MPI_T did not say which parameters it has",
                  library_->path());
    std::set<std::string> out;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (answers[i] == '1') out.insert(names[i]);
    return out;
  }
  // MPIX_Query_cuda_support is an extension, which not every MPI has.
  [[nodiscard]] CudaSupport cuda_support() const override {
    CudaSupport support;
    support.built = control_variable("mpi_built_with_cuda_support");
    if (f_.query_cuda_support != nullptr) support.enabled = f_.query_cuda_support() != 0;
    return support;
  }
  [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  [[nodiscard]] std::uint32_t size() const override { return static_cast<std::uint32_t>(size_); }

  // Counts are ints in MPI 3: the kernels' largest message stays below 2 GiB.
  void send(const void* data, std::size_t bytes, std::uint32_t to) override {
    f_.send(data, as_int(bytes), MPI_BYTE, as_int(to), kTag, MPI_COMM_WORLD);
  }
  void receive(void* data, std::size_t bytes, std::uint32_t from) override {
    f_.recv(data, as_int(bytes), MPI_BYTE, as_int(from), kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void begin_send(std::size_t slot, const void* data, std::size_t bytes,
                  std::uint32_t to) override {
    f_.isend(data, as_int(bytes), MPI_BYTE, as_int(to), kTag, MPI_COMM_WORLD, &requests_[slot]);
  }
  void begin_receive(std::size_t slot, void* data, std::size_t bytes, std::uint32_t from) override {
    f_.irecv(data, as_int(bytes), MPI_BYTE, as_int(from), kTag, MPI_COMM_WORLD, &requests_[slot]);
  }
  void wait_all(std::size_t count) override {
    f_.waitall(as_int(count), requests_.data(), MPI_STATUSES_IGNORE);
  }
  void reserve(std::size_t requests) override { requests_.resize(requests, MPI_REQUEST_NULL); }

  void barrier() override { f_.barrier(MPI_COMM_WORLD); }
  // Collectives of bytes, so that MPI converts nothing; reductions are of MPI_FLOAT.
  void broadcast(void* data, std::size_t bytes, std::uint32_t root) override {
    f_.bcast(data, as_int(bytes), MPI_BYTE, as_int(root), MPI_COMM_WORLD);
  }
  void gather(const void* mine, std::size_t bytes, void* all, std::uint32_t root) override {
    f_.gather(mine, as_int(bytes), MPI_BYTE, all, as_int(bytes), MPI_BYTE, as_int(root),
              MPI_COMM_WORLD);
  }
  void all_gather(const void* mine, std::size_t bytes, void* all) override {
    f_.allgather(mine, as_int(bytes), MPI_BYTE, all, as_int(bytes), MPI_BYTE, MPI_COMM_WORLD);
  }
  void all_to_all(const void* data, std::size_t bytes_each, void* received) override {
    f_.alltoall(data, as_int(bytes_each), MPI_BYTE, received, as_int(bytes_each), MPI_BYTE,
                MPI_COMM_WORLD);
  }
  void reduce(const void* data, void* sum, std::size_t floats, std::uint32_t root) override {
    f_.reduce(data, sum, as_int(floats), MPI_FLOAT, MPI_SUM, as_int(root), MPI_COMM_WORLD);
  }
  void all_reduce(const void* data, void* sum, std::size_t floats) override {
    f_.allreduce(data, sum, as_int(floats), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  void reduce_scatter(const void* data, void* sum, std::span<const int> floats_of_rank) override {
    f_.reduce_scatter(data, sum, floats_of_rank.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }

  // The error handler returns errors for this one call, so that an MPI without one-sided support
  // yields an error line and does not end the ranks. MPI_Win_lock_all opens the epoch in which
  // flush() works (MPI 3.1, section 11.5.3).
  Status expose(void* memory, std::size_t bytes) override {
    f_.comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int made = f_.win_create(memory, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                                   MPI_COMM_WORLD, &window_);
    f_.comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (made != MPI_SUCCESS)
      return fail(Code::kFailedPrecondition,
                  "MPI_Win_create: error {}: {} has nothing here for one-sided calls between these "
                  "ranks (Debian's Open MPI switches osc ucx and pt2pt off in "
                  "openmpi-mca-params.conf); name a layer (ucx, ob1)",
                  made, kImplementation);
    f_.win_lock_all(0, window_);
    exposed_ = true;
    return {};
  }
  // Ends the epoch before the window, in the order that the MPI standard asks.
  void unexpose() override {
    if (!exposed_) return;
    f_.win_unlock_all(window_);
    f_.win_free(&window_);
    exposed_ = false;
  }
  // The window counts in bytes (displacement unit 1), so `offset` is a byte offset.
  void put(const void* data, std::size_t bytes, std::uint32_t to, std::size_t offset) override {
    f_.put(data, as_int(bytes), MPI_BYTE, as_int(to), static_cast<MPI_Aint>(offset), as_int(bytes),
           MPI_BYTE, window_);
  }
  void get(void* data, std::size_t bytes, std::uint32_t from, std::size_t offset) override {
    f_.get(data, as_int(bytes), MPI_BYTE, as_int(from), static_cast<MPI_Aint>(offset),
           as_int(bytes), MPI_BYTE, window_);
  }
  void flush(std::uint32_t rank) override { f_.win_flush(as_int(rank), window_); }
  // MPI_Win_sync: nothing where no memory is exposed.
  void sync() override {
    if (exposed_) f_.win_sync(window_);
  }

 private:
  // The child of controls_among(): writes '1' or '0' for each name, and ends by an alarm where
  // MPI_T hangs.
  [[nodiscard]] int answer(const std::vector<std::string>& names, int to) const {
    ::alarm(kAskSeconds);
    int provided = 0;
    std::string answers;
    if (f_.t_init(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS)
      for (const std::string& name : names) {
        int index = 0;
        answers += f_.t_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS ? '1' : '0';
      }
    static_cast<void>(!::write(to, answers.data(), answers.size()));
    return 0;
  }
  // A switch of the MPI by its name; absent where it has none of that name.
  [[nodiscard]] std::optional<bool> control_variable(const char* name) const {
    int provided = 0;
    int index = 0;
    int count = 0;
    MPI_T_cvar_handle handle{};
    std::array<unsigned char, 64> value{};
    if (f_.t_init(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        f_.t_cvar_get_index(name, &index) != MPI_SUCCESS ||
        f_.t_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
      return std::nullopt;
    const bool one = count == 1 && f_.t_cvar_read(handle, value.data()) == MPI_SUCCESS;
    f_.t_cvar_handle_free(&handle);
    if (!one) return std::nullopt;
    int number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    return number != 0;
  }

  // The library is never unloaded: MPI registers exit handlers.
  std::optional<Library> library_;
  Table f_;
  bool up_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
  MPI_Win window_ = MPI_WIN_NULL;
  bool exposed_ = false;
};

}  // namespace

Calls* linked() {
  static Binding binding;
  return &binding;
}

}  // namespace railgauge::mpi
