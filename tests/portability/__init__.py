"""The portability matrix: ``python -m tests.portability`` proves what needs no GPU.

null_device   records what the library asks a device to build and to launch
workload      all of it, for a device with given capabilities
prepared_fits  what of it trainings ask for
problems      the trainings that exercise runs
targets       GPUs that are not here: their capabilities and their compilers' names
offline       the compilers of AMD, Intel and NVIDIA: registers, spills, local memory
ocloc         Intel's: programs in batches, each parsed once for all chips
exercise      every primitive and a training on a device that is here, against the twins
runtimes      exercise under PoCL, Intel's CPU runtime and Oclgrind, in all their settings
chroot        a Debian in a folder, with drivers that this machine does not have
drivers       doctor, exercise and tests under Mesa's rusticl and PoCL in that folder
tables        what is printed, and the pages of docs/portability/
mutations     a kernel is broken on purpose: which row of the matrix goes red?
"""
