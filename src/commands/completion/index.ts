import { Args } from '@oclif/core';
import { PaddletCommand } from '../base-command.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { commandWords } from './words.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export default class Completion extends PaddletCommand<typeof Completion> {
  static override summary = 'Print a completion script for bash, zsh or fish';
  static override description =
    `The script completes commands, flags, file names, and the values of flags that accept a fixed set of values. The
script does not need other files. After an update of paddlet, install the script again. The shell reads the script when
the shell starts.`;
  static override examples = [
    {
      command: '<%= config.bin %> completion bash > ~/.local/share/bash-completion/completions/paddlet',
      description:
        'Install for bash, if the package bash-completion is installed. Otherwise, source the script in ~/.bashrc.',
    },
    {
      command: '<%= config.bin %> completion zsh > ~/.zfunc/_paddlet',
      description: 'Install for zsh. In ~/.zshrc, add `fpath+=(~/.zfunc)` before `compinit`.',
    },
    {
      command: '<%= config.bin %> completion fish > ~/.config/fish/completions/paddlet.fish',
      description: 'Install for fish.',
    },
  ];
  static override args = {
    shell: Args.string({
      required: true,
      options: Object.keys(SCRIPTS),
      description: 'Shell for which to print the script: bash, zsh or fish.',
    }),
  };
  static override flags = {};

  override async execute(): Promise<void> {
    const script = SCRIPTS[this.args.shell as keyof typeof SCRIPTS](await commandWords(this.config.commands));
    this.output({ shell: this.args.shell, script }, () => script.trimEnd());
  }
}
