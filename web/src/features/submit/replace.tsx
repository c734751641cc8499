import { Switch } from "@/components/form";
import { submit as text } from "@/texts/submit";

type Props = { name: string; checked: boolean; onChange: (checked: boolean) => void };
/** Whether the job that this one takes the place of is canceled. */
export const Replace = ({ name, ...rest }: Props) => (
  <Switch label={text.replace} about={text.replaceAbout(name)} {...rest} />
);
