# One row of the table of CPU costs, from the launches of a way (jq -s): the middle launch's figure, with the least and
# the most of the launches. Three digits.
def digits:
  if . == 0 then "0"
  else . as $value | pow(10; 2 - ($value | fabs | log10 | floor)) as $by | $value * $by | round / $by | tostring
  end;
def middle: sort | .[(length - 1) / 2 | floor];
def words(figure):
  [.[] | figure | select(. != null)]
  | if length == 0 then "-" else "\(middle | digits) (\(min | digits) to \(max | digits))" end;
# CPU nanoseconds a byte; busy CPUs, which are those times the rate; CPUs in softirqs and interrupts.
def cost($side): words(.ends[$side].ns);
def cpus($side): words(if .ends[$side] then .ends[$side].ns * .rate / 1e9 else null end);
def of_kernel($side): words(if .ends[$side] then .ends[$side].softirq + .ends[$side].irq else null end);
"\(words(.rate / 1e9)) | \(cost("initiator")) | \(cost("target")) | \(cpus("initiator")) | \(cpus("target"))"
+ " | \(of_kernel("initiator")) | \(of_kernel("target"))"
