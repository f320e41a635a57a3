"""The portability matrix: ``python -m tests.portability`` proves what needs no GPU.

null_device   records what the library asks a device to build and to launch
workload      all of it, for a device with given capabilities
prepared_fits  what of it trainings ask for
problems      the trainings that exercise runs
trainings     what each of these binds on paper, and its model beside the twin's
cover         the fewest programs or trainings that show all that all of them show
targets       GPUs that are not here: their capabilities and their compilers' names
offline       the compilers of AMD, Intel and NVIDIA, by rows: registers, spills, local memory
clang         for AMD's chips; comgr: AMD's own, in a process of its own (comgr_child)
record        what they made of programs before, in ``compiled/``: what is new is compiled
amd_remarks   what both say of registers and spills
ocloc         Intel's two: programs in batches, each parsed once for all chips
nvrtc         NVIDIA's
debian        programs of another Debian release, in a folder and not installed
exercise      every primitive and a training on a device that is here, against the twins
runtimes      exercise under PoCL, Intel's CPU runtime and Oclgrind, in all their settings
chroot        a Debian in a folder, with drivers that this machine does not have
drivers       doctor, exercise and tests under Mesa's rusticl and PoCL in that folder
tables        what is printed, and the pages of docs/portability/
mutations     a kernel is broken on purpose: which row of the matrix goes red?
"""
