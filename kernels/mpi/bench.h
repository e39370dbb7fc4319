// One rank of an MPI task. Rank 0 broadcasts each next step outside the timed region; the others
// follow until it announces the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampling.h"
#include "kernels/gpu/device.h"
#include "kernels/mpi/data.h"
#include "kernels/mpi/operation.h"
#include "kernels/mpi/over_ranks.h"
#include "kernels/mpi/path/traffic.h"

namespace railgauge::mpi {

// Limit of one exchange over the task's own rendezvous, in seconds.
inline constexpr double kExchangeSeconds = 60;

// The kernel of one Operation, one object a rank. Not thread safe: MPI is used from one thread, as
// MPI_Init without MPI_THREAD_MULTIPLE requires.
class Bench final : public Kernel {
 public:
  explicit Bench(const Operation& operation) : operation_(operation) {}
  // Rejects faults of the program or the parameters; allocates memory.
  Status prepare(Context& context) override;
  // Calls MPI_Init; compares the MPIs of all ranks.
  Status connect(Context& context, Group& group) override;
  // Measures every size; reports the same error on all ranks.
  Status measure(Context& context, Group& group) override;

 private:
  // The kinds of orders: fresh data for a size, a batch of samples, the look at the counters, the
  // verification, messages staged (count 1) or not (0), the end, a round of the proof, the time in
  // ns that ranks compute beside each call.
  enum class Act : std::uint32_t {
    kBegin = 1,
    kPlay,
    kTraffic,
    kVerify,
    kStage,
    kDone,
    kProve,
    kCompute
  };
  // One broadcast of rank 0. A plain struct: all ranks run the same program. `count` is the number
  // of samples, the number of the content, or the first call of a round.
  struct Order {
    Act act = Act::kDone;
    std::uint32_t size_index = 0;
    std::uint64_t count = 0;
  };

  // Reports whether this rank's messages are in GPU memory; ranks may differ.
  [[nodiscard]] bool on_gpu() const { return memory_ != Memory::kHost; }
  [[nodiscard]] Share share_of(std::size_t size_index) const;
  // Where the samples of a size are (bench_places.cc).
  [[nodiscard]] Places places_of(std::size_t size_index) const;
  // The longest buffer of any rank in bytes; equal on all ranks.
  [[nodiscard]] std::uint64_t longest_buffer(Share share) const;
  // The bytes that one of this rank's buffers needs for the places of all sizes.
  [[nodiscard]] std::uint64_t room_for(std::uint64_t (*bytes)(const Share&)) const;
  // kFailedPrecondition where cold memory of this node's ranks would use up the host's.
  [[nodiscard]] Status check_room(std::uint32_t local_rank) const;
  // Moves both areas to a place, an offset in bytes.
  void move_to(std::uint64_t place);
  // "hot", "cold", or "hot: " or "not known: " and why memory that was to be cold is not called so.
  [[nodiscard]] std::string buffer_fact() const;
  // Reads the parameters that need no memory and no other rank.
  Status read_parameters(const Params& params);
  [[nodiscard]] bool is_staged(const Params& params) const;
  // How often a sample's messages count.
  [[nodiscard]] double many() const {
    return operation_.many == nullptr ? 1 : operation_.many(ranks_);
  }
  // Writes the task's tunables into this process's environment, and reports them as a fact.
  Status set_tunables(Context& context, std::uint32_t local_rank);
  // Takes the task's endpoint, if it has one: a GPU with its nearest NIC, or a NIC's port.
  Status take_place(Context& context);
  // Opens the GPU if one is used, and allocates both areas.
  Status open_memory(Context& context);
  // kFailedPrecondition when the MPI would crash on this rank's device pointers.
  Status check_cuda(Context& context);
  // Reports the ranks' GPUs and NICs as a fact.
  Status report_places(Context& context, Group& group);
  // kFailedPrecondition when a rank has another version of the MPI.
  Status check_same_mpi(Group& group);

  void send_order(Act act, std::size_t size_index = 0, std::uint64_t count = 0);
  // The steps of one size, equal on every rank.
  void begin(std::size_t size_index, std::uint64_t number);
  void play(const TickClock& clock, std::size_t size_index, std::uint64_t count);
  Status verify(std::size_t size_index);
  // Exposes the memory of one-sided calls; does nothing for others.
  Status expose_memory();

  // Find out the path that the messages really took (bench_path.cc). gather_traffic() and stage()
  // run on every rank, and leave their answers on rank 0.
  void gather_traffic(std::size_t size_index);
  // Adds the share of the ports' rates to a figure's facts, on rank 0. kDataLoss above them.
  Status add_ceiling(std::size_t size_index, const Sampled& sampled);
  [[nodiscard]] double sample_ns(std::size_t size_index, const Sampled& sampled) const;
  Status stage(const TickClock& clock, std::size_t size_index, bool staged);
  Status measure_twin(Context& context, std::size_t size_index, const Sampled& direct);
  // The time of a non-blocking collective that computation of equal length does not hide, as a
  // point beside the figure, and the parts of it as the figure's facts (overlap.cc). Nothing for
  // others.
  // The computation stays beside the calls of the proof, until finish_overlap().
  Status measure_overlap(Context& context, std::size_t size_index, const Sampled& pure);
  void finish_overlap(Context& context, std::size_t size_index);
  void set_compute(const TickClock& clock, std::uint64_t ns);
  // Adds the ranks' own computing times of a batch, on rank 0.
  void gather_computed(double mine_ns);
  [[nodiscard]] double message_ns(const std::vector<double>& values, std::size_t size_index) const;
  // The proof of a size (proof.cc): rank 0 decides how many rounds of calls there are. Every call
  // has a content of its own, and each rank compares all that it receives.
  struct Brought {
    std::uint64_t messages = 0;  // by one call to all ranks; a collective counts as one
    std::uint64_t bytes = 0;     // of them
  };
  [[nodiscard]] Share share_of_proof(std::size_t size_index) const;
  [[nodiscard]] Brought brought_by_call(std::size_t size_index) const;
  [[nodiscard]] std::uint64_t calls_in_round(std::size_t size_index) const;
  [[nodiscard]] Content content_of(std::size_t size_index, std::uint64_t number) const;
  Status lead_proof(Context& context, std::size_t size_index);
  Status prove(const TickClock& clock, std::size_t size_index, std::uint64_t first);
  void prove_call(Work& work, const Content& content);
  [[nodiscard]] Status compare_call(const Share& share, const Content& content) const;
  [[nodiscard]] std::string fault_in(const Share& share, const Content& content,
                                     std::span<const Segment> segments, std::size_t wrong,
                                     const std::string& difference) const;
  // All ranks learn whether one found a fault, since all must leave the loop at the same order.
  void agree_on(const Status& found);

  // Rank 0 leads and the others follow; batch() is one order with its samples, in the metric's
  // unit.
  Status lead(Context& context);
  Status follow(Context& context);
  Status lead_size(Context& context, std::size_t size_index);
  Status batch(Context& context, std::size_t size_index, std::uint64_t count,
               std::vector<double>& out);
  // Exchanges the ranks' errors at the end.
  Status share(Group& group, const Status& mine) const;
  [[nodiscard]] bool counts(std::uint32_t rank) const;
  [[nodiscard]] double value(double ns, std::size_t size_index) const;
  // Run on rank 0 only, which has all times.
  [[nodiscard]] Point point_of(const Context& context, std::size_t size_index,
                               const Sampled& sampled) const;
  void report(Context& context, std::size_t size_index, Sampled sampled, std::uint64_t skipped);
  void report_ranks(Context& context, std::size_t size_index, const Sampled& sampled,
                    std::span<const std::uint32_t> ranks);

  // Set by prepare() and constant from then on.
  const Operation& operation_;
  Calls* mpi_ = nullptr;
  gpu::Gpu gpu_;
  // The port that this rank is placed on, or the one nearest to its GPU; "": none.
  std::string nic_;
  Memory memory_ = Memory::kHost;
  bool staged_ = false;
  // Rank 1 copies between its host memory and its GPU.
  bool target_staged_ = false;
  // A rank has its messages in GPU memory; of one-sided calls, the target has.
  bool any_gpu_ = false;
  bool target_on_gpu_ = false;
  bool verify_ = true;
  double proof_time_ns_ = 0;
  // The result of the measured size's proof, on rank 0.
  std::uint64_t proved_messages_ = 0;
  std::uint64_t proved_bytes_ = 0;
  std::vector<std::uint64_t> sizes_;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint32_t root_ = 0;
  std::uint64_t window_ = 1;
  bool one_buffer_ = false;
  std::uint64_t cold_bytes_ = 0;  // 0: hot
  OverRanks over_ranks_ = OverRanks::kSlowest;
  SamplerOptions options_;
  // Large enough for every size of the task.
  Area send_;
  Area receive_;
  CollectiveParts parts_;
  Form form_ = Form::kBlocking;
  bool uneven_ = false;
  bool in_place_ = false;
  Sync sync_ = Sync::kFlush;
  // Beside each call of a non-blocking collective; 0 ticks: nothing.
  std::uint64_t compute_ticks_ = 0;
  std::uint64_t polls_ = 0;
  std::optional<Point> exposed_;  // of the present size, on rank 0
  double computed_ns_ = 0;        // the mean over the ranks, of all calls since it was cleared
  std::string wrong_fetch_;       // the first one of this rank
  // Times of the current batch: this rank's in ticks and ns, all ranks' in ns, rank by rank.
  std::vector<std::uint64_t> ticks_;
  std::vector<double> own_ns_;
  std::vector<double> all_ns_;                   // of all ranks, on rank 0
  std::vector<std::vector<double>> by_rank_ns_;  // of kept samples
  // The counters at the first kept sample, and the samples since then.
  TrafficReader traffic_{"/sys"};
  Traffic traffic_before_;
  TrafficReader::Counts counts_before_;
  std::uint64_t played_ = 0;
  // On rank 0: what gather_traffic() found of each rank, and its verdict.
  std::vector<RankTraffic> ranks_traffic_;
  std::string transport_;
  // On rank 0: the least time of a copy to the host, and the facts of the present point.
  double copy_ns_ = 0;
  std::map<std::string, std::string> path_facts_;
  // Set on all ranks once a verification fails on any of them: no further size is measured.
  bool stopped_ = false;
};

}  // namespace railgauge::mpi
