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

#include "kernels/core/base/clock.h"
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
  ROW(wait, MPI_Wait)                               \
  ROW(test, MPI_Test)                               \
  ROW(send_init, MPI_Send_init)                     \
  ROW(recv_init, MPI_Recv_init)                     \
  ROW(start, MPI_Start)                             \
  ROW(startall, MPI_Startall)                       \
  ROW(request_free, MPI_Request_free)               \
  ROW(barrier, MPI_Barrier)                         \
  ROW(bcast, MPI_Bcast)                             \
  ROW(gather, MPI_Gather)                           \
  ROW(allgather, MPI_Allgather)                     \
  ROW(graph_create, MPI_Dist_graph_create_adjacent) \
  ROW(comm_set_errhandler, MPI_Comm_set_errhandler) \
  ROW(win_create, MPI_Win_create)                   \
  ROW(win_free, MPI_Win_free)                       \
  ROW(win_lock_all, MPI_Win_lock_all)               \
  ROW(win_unlock_all, MPI_Win_unlock_all)           \
  ROW(win_flush, MPI_Win_flush)                     \
  ROW(win_sync, MPI_Win_sync)                       \
  ROW(win_fence, MPI_Win_fence)                     \
  ROW(win_post, MPI_Win_post)                       \
  ROW(win_wait, MPI_Win_wait)                       \
  ROW(win_start, MPI_Win_start)                     \
  ROW(win_complete, MPI_Win_complete)               \
  ROW(win_lock, MPI_Win_lock)                       \
  ROW(win_unlock, MPI_Win_unlock)                   \
  ROW(comm_group, MPI_Comm_group)                   \
  ROW(group_incl, MPI_Group_incl)                   \
  ROW(group_free, MPI_Group_free)                   \
  ROW(init_thread, MPI_Init_thread)                 \
  ROW(put, MPI_Put)                                 \
  ROW(get, MPI_Get)                                 \
  ROW(accumulate, MPI_Accumulate)                   \
  ROW(get_accumulate, MPI_Get_accumulate)           \
  ROW(fetch_and_op, MPI_Fetch_and_op)               \
  ROW(compare_and_swap, MPI_Compare_and_swap)       \
  ROW(t_init, MPI_T_init_thread)                    \
  ROW(t_cvar_get_index, MPI_T_cvar_get_index)       \
  ROW(t_cvar_handle_alloc, MPI_T_cvar_handle_alloc) \
  ROW(t_cvar_handle_free, MPI_T_cvar_handle_free)   \
  ROW(t_cvar_read, MPI_T_cvar_read)

// One row a collective: its name in MPI, and the name of the call that begins it.
#define RAILGAUGE_MPI_COLLECTIVES(ROW)             \
  ROW(Allgather, Iallgather)                       \
  ROW(Allgatherv, Iallgatherv)                     \
  ROW(Allreduce, Iallreduce)                       \
  ROW(Alltoall, Ialltoall)                         \
  ROW(Alltoallv, Ialltoallv)                       \
  ROW(Alltoallw, Ialltoallw)                       \
  ROW(Barrier, Ibarrier)                           \
  ROW(Bcast, Ibcast)                               \
  ROW(Gather, Igather)                             \
  ROW(Gatherv, Igatherv)                           \
  ROW(Neighbor_allgather, Ineighbor_allgather)     \
  ROW(Neighbor_allgatherv, Ineighbor_allgatherv)   \
  ROW(Neighbor_alltoall, Ineighbor_alltoall)       \
  ROW(Neighbor_alltoallv, Ineighbor_alltoallv)     \
  ROW(Neighbor_alltoallw, Ineighbor_alltoallw)     \
  ROW(Reduce, Ireduce)                             \
  ROW(Reduce_scatter, Ireduce_scatter)             \
  ROW(Reduce_scatter_block, Ireduce_scatter_block) \
  ROW(Scatter, Iscatter)                           \
  ROW(Scatterv, Iscatterv)

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

// The forms of one collective: the arguments of the blocking one, and what the others add.
template <class Blocking>
struct FormsOf;
template <class... Arguments>
struct FormsOf<int (*)(Arguments...)> {
  int (*blocking)(Arguments...) = nullptr;
  int (*begin)(Arguments..., MPI_Request*) = nullptr;
  int (*init)(Arguments..., MPI_Info, MPI_Request*) = nullptr;  // MPI 4's: may be absent
};
struct Collectives {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_FORMS(name, begin) FormsOf<decltype(&MPI_##name)> name;
  RAILGAUGE_MPI_COLLECTIVES(RAILGAUGE_FORMS)
#undef RAILGAUGE_FORMS
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

// Open MPI 4 has the persistent ones as an extension, under MPIX_. A form has the type that its
// blocking one leads to, since headers older than MPI 4 declare none.
template <class Forms>
Status bind_forms(const Library& library, const std::string& name, const std::string& begin,
                  Forms& forms) {
  forms.blocking = RG_TRY(library.bind<decltype(forms.blocking)>(("MPI_" + name).c_str()));
  forms.begin = RG_TRY(library.bind<decltype(forms.begin)>(("MPI_" + begin).c_str()));
  for (const char* prefix : {"MPIX_", "MPI_"})
    if (auto* init = library.find<decltype(forms.init)>((prefix + name + "_init").c_str());
        init != nullptr)
      forms.init = init;
  return {};
}
Result<Collectives> bind_collectives(const Library& library) {
  Collectives all;
#define RAILGAUGE_BIND_FORMS(name, begin) RG_TRY_OK(bind_forms(library, #name, #begin, all.name));
  RAILGAUGE_MPI_COLLECTIVES(RAILGAUGE_BIND_FORMS)
#undef RAILGAUGE_BIND_FORMS
  return all;
}

// Whether each block has a length and a place of its own.
bool has_parts(Collective what) {
  switch (what) {
    case Collective::kAllGatherV:
    case Collective::kAllToAllV:
    case Collective::kAllToAllW:
    case Collective::kGatherV:
    case Collective::kNeighborAllGatherV:
    case Collective::kNeighborAllToAllV:
    case Collective::kNeighborAllToAllW:
    case Collective::kReduceScatter:
    case Collective::kScatterV:
      return true;
    default:
      return false;
  }
}

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
    collectives_ = RG_TRY(bind_collectives(library));
    library_ = std::move(library);
    return {};
  }
  // MPI_Init may run once in a process, hence the flag.
  Status init() override {
    RG_TRY_OK(load());
    if (up_) return {};
    const double began_ns = monotonic_now_ns();
    int level = MPI_THREAD_SINGLE;
    if (wants_threads_)
      f_.init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    else
      f_.init(nullptr, nullptr);
    init_ns_ = monotonic_now_ns() - began_ns;
    f_.comm_rank(MPI_COMM_WORLD, &rank_);
    f_.comm_size(MPI_COMM_WORLD, &size_);
    byte_types_.assign(static_cast<std::size_t>(size_), MPI_BYTE);
    up_ = true;
    if (wants_threads_ && level != MPI_THREAD_MULTIPLE)
      return fail(Code::kUnimplemented,
                  "{}: it lets one thread at a time call it (MPI_Init_thread gave level {})",
                  facts()["mpi_version"], level);
    return {};
  }
  // Before the library starts: its level of threads is chosen once.
  void want_threads() override { wants_threads_ = true; }
  [[nodiscard]] double init_ns() const override { return init_ns_; }
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
  // A tag for each thread keeps their messages apart; 0 is that of all other calls.
  void send_of_thread(const void* data, std::size_t bytes, std::uint32_t to,
                      std::uint32_t thread) override {
    f_.send(data, as_int(bytes), MPI_BYTE, as_int(to), kTag + 1 + as_int(thread), MPI_COMM_WORLD);
  }
  void receive_of_thread(void* data, std::size_t bytes, std::uint32_t from,
                         std::uint32_t thread) override {
    f_.recv(data, as_int(bytes), MPI_BYTE, as_int(from), kTag + 1 + as_int(thread), MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
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
  void make_send(std::size_t slot, const void* data, std::size_t bytes, std::uint32_t to) override {
    f_.send_init(data, as_int(bytes), MPI_BYTE, as_int(to), kTag, MPI_COMM_WORLD, &requests_[slot]);
  }
  void make_receive(std::size_t slot, void* data, std::size_t bytes, std::uint32_t from) override {
    f_.recv_init(data, as_int(bytes), MPI_BYTE, as_int(from), kTag, MPI_COMM_WORLD,
                 &requests_[slot]);
  }
  // MPI_Startall also for one request: MPI_Start of a collective's has a method of its own.
  void start(std::size_t first, std::size_t count) override {
    f_.startall(as_int(count), &requests_[first]);
  }
  void wait(std::size_t first, std::size_t count) override {
    f_.waitall(as_int(count), &requests_[first], MPI_STATUSES_IGNORE);
  }
  void free_made(std::size_t count) override {
    for (std::size_t slot = 0; slot < count; ++slot) f_.request_free(&requests_[slot]);
  }

  void barrier() override { f_.barrier(MPI_COMM_WORLD); }
  // Bytes, so that MPI converts nothing.
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

  Status offers(Collective what, Form form) override {
    bool has = true;
    const CollectiveParts none;
    with_arguments({.what = what, .parts = &none}, [&](auto& forms, auto...) {
      has = form != Form::kPersistent || forms.init != nullptr;
    });
    if (!has)
      return fail(Code::kUnimplemented,
                  "{}: it has no persistent collectives, which are MPI 4's; say call=blocking or "
                  "call=nonblocking",
                  facts()["mpi_version"]);
    return {};
  }
  void join(Collective what) override {
    const bool is_neighbourhood =
        what >= Collective::kNeighborAllGather && what <= Collective::kNeighborAllToAllW;
    if (is_neighbourhood && ring_ == MPI_COMM_NULL) join_ring();
  }
  void call(const CollectiveCall& call) override {
    with_arguments(call, [](auto& forms, auto... arguments) { forms.blocking(arguments...); });
  }
  void begin(const CollectiveCall& call) override {
    with_arguments(
        call, [this](auto& forms, auto... arguments) { forms.begin(arguments..., &request_); });
  }
  void make(const CollectiveCall& call) override {
    with_arguments(call, [this](auto& forms, auto... arguments) {
      forms.init(arguments..., MPI_INFO_NULL, &request_);
    });
  }
  // One request for each form: the kernels never have two collectives at once.
  void start_made() override { f_.start(&request_); }
  void poll() override {
    int done = 0;
    // MPI_Test clears the request of a call that is complete; MPI_Wait then returns at once.
    if (request_ != MPI_REQUEST_NULL) f_.test(&request_, &done, MPI_STATUS_IGNORE);
  }
  void finish() override { f_.wait(&request_, MPI_STATUS_IGNORE); }
  void free_call() override { f_.request_free(&request_); }

  // The error handler returns errors for this one call, so that an MPI without one-sided support
  // yields an error line and does not end the ranks. MPI_Win_lock_all opens the epoch in which
  // flush() works (MPI 3.1, section 11.5.3).
  Status expose(void* memory, std::size_t bytes, bool always) override {
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
    if (always) f_.win_lock_all(0, window_);
    exposed_ = true;
    locked_ = always;
    return {};
  }
  // Ends the epoch before the window, in the order that the MPI standard asks.
  void unexpose() override {
    if (!exposed_) return;
    if (locked_) f_.win_unlock_all(window_);
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
  void accumulate(const void* data, std::size_t bytes, std::uint32_t to,
                  std::size_t offset) override {
    const int count = as_int(bytes / sizeof(std::uint32_t));
    f_.accumulate(data, count, MPI_UINT32_T, as_int(to), static_cast<MPI_Aint>(offset), count,
                  MPI_UINT32_T, MPI_SUM, window_);
  }
  void get_accumulate(const void* data, void* before, std::size_t bytes, std::uint32_t to,
                      std::size_t offset) override {
    const int count = as_int(bytes / sizeof(std::uint32_t));
    f_.get_accumulate(data, count, MPI_UINT32_T, before, count, MPI_UINT32_T, as_int(to),
                      static_cast<MPI_Aint>(offset), count, MPI_UINT32_T, MPI_SUM, window_);
  }
  // Two and three buffers of one number each; MPI orders accumulates to one place.
  void fetch_and_add(const void* data, void* before, std::uint32_t to,
                     std::size_t offset) override {
    f_.fetch_and_op(data, before, MPI_UINT64_T, as_int(to), static_cast<MPI_Aint>(offset), MPI_SUM,
                    window_);
  }
  void compare_and_swap(const void* data, const void* expected, void* before, std::uint32_t to,
                        std::size_t offset) override {
    f_.compare_and_swap(data, expected, before, MPI_UINT64_T, as_int(to),
                        static_cast<MPI_Aint>(offset), window_);
  }
  void flush(std::uint32_t rank) override { f_.win_flush(as_int(rank), window_); }
  void fence() override { f_.win_fence(0, window_); }
  // A group for each epoch would be made within the time; the kernels' pairs never change.
  void grant(std::uint32_t other) override { f_.win_post(group_of(other), 0, window_); }
  void await_granted() override { f_.win_wait(window_); }
  void start_access(std::uint32_t other) override { f_.win_start(group_of(other), 0, window_); }
  void complete_access() override { f_.win_complete(window_); }
  // Shared: both ranks of a bidirectional figure may hold their epoch at once.
  void lock(std::uint32_t other) override {
    f_.win_lock(MPI_LOCK_SHARED, as_int(other), 0, window_);
  }
  void unlock(std::uint32_t other) override { f_.win_unlock(as_int(other), window_); }
  // MPI_Win_sync: nothing where no memory is exposed, or outside of an epoch of this rank.
  void sync() override {
    if (exposed_ && locked_) f_.win_sync(window_);
  }

 private:
  static bool is_scatter(Collective what) {
    return what == Collective::kScatter || what == Collective::kScatterV;
  }
  // MPI has the root's own block in place of the receive buffer for a scatter, and in place of the
  // send buffer for all others.
  static const void* send_of(const CollectiveCall& call) {
    return call.in_place && !is_scatter(call.what) ? MPI_IN_PLACE : call.send;
  }
  static void* receive_of(const CollectiveCall& call) {
    return call.in_place && is_scatter(call.what) ? MPI_IN_PLACE : call.receive;
  }
  // The group of one rank, made at its first use.
  MPI_Group group_of(std::uint32_t other) {
    const auto found = groups_.find(other);
    if (found != groups_.end()) return found->second;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group one = MPI_GROUP_NULL;
    const int rank = as_int(other);
    f_.comm_group(MPI_COMM_WORLD, &all);
    f_.group_incl(all, 1, &rank, &one);
    f_.group_free(&all);
    return groups_.emplace(other, one).first->second;
  }
  // Calls `apply` with the forms of a collective and its arguments of the blocking form. Bytes, so
  // that MPI converts nothing; sums are of MPI_FLOAT.
  template <class Apply>
  void with_arguments(const CollectiveCall& call, Apply apply) {
    if (call.what == Collective::kNone) return;
    if (has_parts(call.what)) return with_parts(call, apply);
    const int count = as_int(call.count);
    const int root = as_int(call.root);
    const void* send = send_of(call);
    void* receive = receive_of(call);
    Collectives& all = collectives_;
    const auto blocks = [&](auto& forms, auto... more) {
      apply(forms, send, count, MPI_BYTE, receive, count, MPI_BYTE, more...);
    };
    const auto sum = [&](auto& forms, auto... more) {
      apply(forms, send, receive, count, MPI_FLOAT, MPI_SUM, more...);
    };
    switch (call.what) {
      case Collective::kAllGather:
        return blocks(all.Allgather, MPI_COMM_WORLD);
      case Collective::kAllReduce:
        return sum(all.Allreduce, MPI_COMM_WORLD);
      case Collective::kAllToAll:
        return blocks(all.Alltoall, MPI_COMM_WORLD);
      case Collective::kBroadcast:
        return apply(all.Bcast, receive, count, MPI_BYTE, root, MPI_COMM_WORLD);
      case Collective::kGather:
        return blocks(all.Gather, root, MPI_COMM_WORLD);
      case Collective::kNeighborAllGather:
        return blocks(all.Neighbor_allgather, ring_);
      case Collective::kNeighborAllToAll:
        return blocks(all.Neighbor_alltoall, ring_);
      case Collective::kReduce:
        return sum(all.Reduce, root, MPI_COMM_WORLD);
      case Collective::kReduceScatterBlock:
        return sum(all.Reduce_scatter_block, MPI_COMM_WORLD);
      case Collective::kScatter:
        return blocks(all.Scatter, root, MPI_COMM_WORLD);
      default:
        return apply(all.Barrier, MPI_COMM_WORLD);
    }
  }
  // The same for collectives whose blocks differ in length.
  template <class Apply>
  void with_parts(const CollectiveCall& call, Apply apply) {
    const int count = as_int(call.count);
    const int root = as_int(call.root);
    const void* send = send_of(call);
    void* receive = receive_of(call);
    const int* to = call.parts->send_counts.data();
    const int* to_at = call.parts->send_places.data();
    const int* from = call.parts->receive_counts.data();
    const int* from_at = call.parts->receive_places.data();
    const MPI_Datatype* types = byte_types_.data();
    Collectives& all = collectives_;
    switch (call.what) {
      case Collective::kAllGatherV:
        return apply(all.Allgatherv, send, count, MPI_BYTE, receive, from, from_at, MPI_BYTE,
                     MPI_COMM_WORLD);
      case Collective::kAllToAllV:
        return apply(all.Alltoallv, send, to, to_at, MPI_BYTE, receive, from, from_at, MPI_BYTE,
                     MPI_COMM_WORLD);
      case Collective::kAllToAllW:
        return apply(all.Alltoallw, send, to, to_at, types, receive, from, from_at, types,
                     MPI_COMM_WORLD);
      case Collective::kGatherV:
        return apply(all.Gatherv, send, count, MPI_BYTE, receive, from, from_at, MPI_BYTE, root,
                     MPI_COMM_WORLD);
      case Collective::kNeighborAllGatherV:
        return apply(all.Neighbor_allgatherv, send, count, MPI_BYTE, receive, from, from_at,
                     MPI_BYTE, ring_);
      case Collective::kNeighborAllToAllV:
        return apply(all.Neighbor_alltoallv, send, to, to_at, MPI_BYTE, receive, from, from_at,
                     MPI_BYTE, ring_);
      case Collective::kNeighborAllToAllW:
        wide_send_.assign(call.parts->send_places.begin(), call.parts->send_places.end());
        wide_receive_.assign(call.parts->receive_places.begin(), call.parts->receive_places.end());
        return apply(all.Neighbor_alltoallw, send, to, wide_send_.data(), types, receive, from,
                     wide_receive_.data(), types, ring_);
      case Collective::kReduceScatter:
        return apply(all.Reduce_scatter, send, receive, from, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      case Collective::kScatterV:
        return apply(all.Scatterv, send, to, to_at, MPI_BYTE, receive, count, MPI_BYTE, root,
                     MPI_COMM_WORLD);
      default:
        return apply(all.Barrier, MPI_COMM_WORLD);
    }
  }
  // A graph of distinct neighbours: in a Cartesian ring of two both neighbours are one rank, and
  // libraries differ in which block is whose. Weights are given, since MPI_UNWEIGHTED is a symbol
  // of the library. MPI_Finalize frees it.
  void join_ring() {
    std::vector<int> beside;
    for (const std::uint32_t rank : neighbours(this->rank(), size()))
      beside.push_back(as_int(rank));
    const std::vector<int> weights(beside.size(), 1);
    const int degree = as_int(beside.size());
    f_.graph_create(MPI_COMM_WORLD, degree, beside.data(), weights.data(), degree, beside.data(),
                    weights.data(), MPI_INFO_NULL, 0, &ring_);
  }
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
  Collectives collectives_;
  bool up_ = false;
  double init_ns_ = 0;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // of a collective
  MPI_Comm ring_ = MPI_COMM_NULL;
  std::vector<MPI_Datatype> byte_types_;  // one for each rank
  // The places of a call of MPI_Neighbor_alltoallw, which alone takes them as addresses.
  std::vector<MPI_Aint> wide_send_;
  std::vector<MPI_Aint> wide_receive_;
  MPI_Win window_ = MPI_WIN_NULL;
  bool exposed_ = false;
  bool locked_ = false;  // by MPI_Win_lock_all
  bool wants_threads_ = false;
  std::map<std::uint32_t, MPI_Group> groups_;  // MPI_Finalize frees them
};

}  // namespace

Calls* linked() {
  static Binding binding;
  return &binding;
}

}  // namespace railgauge::mpi
